// A library that says it is an NCCL and a CUDA runtime of long ago, to be refused.
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
