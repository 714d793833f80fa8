/* A CUDA runtime with GPUs that only say they are there: what a rank of a machine without any finds where a
 * test has put it. FAKE_GPU is the UUID's first byte; without it the rank's own number. Nothing computes. */
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kNoDevice = 100 };

int cudaRuntimeGetVersion(int* version) { return *version = 13000, kSuccess; }
int cudaDriverGetVersion(int* version) { return *version = 13010, kSuccess; }
int cudaGetDeviceCount(int* count) { return *count = 1, kSuccess; }
int cudaGetDeviceProperties(char* properties, int device) {
  const char* gpu = getenv("FAKE_GPU");
  const char* rank = getenv("SLURM_PROCID");
  (void)device;
  strcpy(properties, "Fake GPU");
  memset(properties + 256, 0, 16);
  properties[256] = (char)(gpu ? atoi(gpu) : rank ? atoi(rank) + 1 : 1);
  return kSuccess;
}
int cudaDeviceGetPCIBusId(char* id, int length, int device) {
  (void)device;
  return strncpy(id, "0000:01:00.0", (size_t)length), kSuccess;
}
int cudaSetDevice(int device) { return device == 0 ? kSuccess : kNoDevice; }
int cudaGetDevice(int* device) { return *device = 0, kSuccess; }
const char* cudaGetErrorString(int error) { return error == kSuccess ? "no error" : "no device"; }
int cudaGetLastError(void) { return kSuccess; }

#define NOTHING(name) \
  int name(void) { return kNoDevice; }
NOTHING(cudaPointerGetAttributes)
NOTHING(cudaEventCreateWithFlags)
NOTHING(cudaEventDestroy)
NOTHING(cudaEventRecord)
NOTHING(cudaEventQuery)
NOTHING(cudaStreamCreateWithFlags)
NOTHING(cudaStreamDestroy)
NOTHING(cudaStreamSynchronize)
NOTHING(cudaMemcpyAsync)
NOTHING(cudaMallocAsync)
NOTHING(cudaFreeAsync)
NOTHING(cudaMalloc)
NOTHING(cudaFree)
