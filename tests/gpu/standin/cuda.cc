// A CUDA driver with one GPU whose kernels run on this machine's processor (ptx.h), as a library: the part
// that the example deploy/examples/digits calls.
//
// Without CUDA's header; the signatures are those of 13.0.
#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/gpu/standin/ptx.h"

using muster::standin::PtxKernel;

namespace {

enum { kSuccess = 0, kOutOfMemory = 2, kInvalidPtx = 218, kNotFound = 500 };

using DeviceMemory = unsigned long long;

void* Memory(DeviceMemory address) { return std::bit_cast<void*>(address); }

int context = 0;
std::string problem;

}  // namespace

extern "C" {

int cuInit(unsigned) { return kSuccess; }
int cuCtxGetCurrent(void** current) { return *current = &context, kSuccess; }
int cuCtxSetCurrent(void*) { return kSuccess; }
int cuDeviceGet(int* device, int) { return *device = 0, kSuccess; }
int cuDevicePrimaryCtxRetain(void** retained, int) { return *retained = &context, kSuccess; }

// Never unloaded.
int cuModuleLoadData(void** module, const void* text) {
  std::optional<PtxKernel> kernel = PtxKernel::Parse(static_cast<const char*>(text), &problem);
  if (!kernel) return kInvalidPtx;
  *module = new PtxKernel(*std::move(kernel));
  return kSuccess;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = module;
  return static_cast<PtxKernel*>(module)->name() == name ? kSuccess : kNotFound;
}
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned, void*, void** arguments, void**) {
  static_cast<const PtxKernel*>(function)->Run(blocks, threads, arguments);
  return kSuccess;
}

int cuMemAlloc_v2(DeviceMemory* address, size_t bytes) {
  void* memory = std::malloc(bytes);
  *address = reinterpret_cast<DeviceMemory>(memory);
  return memory == nullptr ? kOutOfMemory : kSuccess;
}
int cuMemFree_v2(DeviceMemory address) { return std::free(Memory(address)), kSuccess; }
int cuMemcpyHtoD_v2(DeviceMemory to, const void* from, size_t bytes) {
  return std::memcpy(Memory(to), from, bytes), kSuccess;
}
int cuMemcpyDtoH_v2(void* to, DeviceMemory from, size_t bytes) {
  return std::memcpy(to, Memory(from), bytes), kSuccess;
}

int cuGetErrorString(int error, const char** text) {
  *text = error == kInvalidPtx ? problem.c_str() : "an error of the stand-in";
  return kSuccess;
}

}  // extern "C"
