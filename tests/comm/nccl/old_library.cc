// A library with the versions of an old NCCL and an old CUDA runtime, to be refused.
extern "C" {
int ncclGetVersion(int* version);
int cudaRuntimeGetVersion(int* version);

int ncclGetVersion(int* version) {
  *version = 21005;
  return 0;
}

int cudaRuntimeGetVersion(int* version) {
  *version = 10020;
  return 0;
}
}
