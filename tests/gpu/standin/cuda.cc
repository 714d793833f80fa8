// A CUDA driver whose kernels run on this machine's processor (ptx.h), as a library: the part that deploy/examples/digits,
// bootstrap/check/gpu and tests/gpu call. Its GPUs are those of the runtime beside it (gpus.h). A kernel of a stream
// waits for its turn there.
//
// STANDIN_GPU_FAULT makes a GPU a broken one: `memory` changes a bit after each kernel that fills memory, `product`
// an element of each product, `launch` fails, `hang` does not return from the wait for a kernel. `taken`: no memory is free,
// `full`: some is, and none can be allocated; `context`: there is none for a context.
//
// Without CUDA's header; the signatures are those of 13.0.
#include <dlfcn.h>

#include <array>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "tests/gpu/standin/gpus.h"
#include "tests/gpu/standin/ptx.h"

using muster::standin::PtxKernel;
using muster::standin::VisibleGpus;

namespace {

enum { kSuccess = 0, kOutOfMemory = 2, kInvalidPtx = 218, kNotFound = 500, kLaunchFailed = 719 };

using DeviceMemory = unsigned long long;
using Time = std::chrono::steady_clock::time_point;

constexpr size_t kFree = size_t{2} << 20;
constexpr int kProcessors = 1;

void* Memory(DeviceMemory address) { return std::bit_cast<void*>(address); }

int context = 0;
std::string problem;

bool HasFault(std::string_view fault) {
  const char* set = std::getenv("STANDIN_GPU_FAULT");
  return set != nullptr && set == fault;
}

// As a GPU's memory or processor does it: in what the kernel has just written, its first argument or its third.
void Spoil(const PtxKernel& kernel, void* const* arguments) {
  const bool memory = kernel.name() == "check_fill" && HasFault("memory");
  const bool product = kernel.name() == "check_product" && HasFault("product");
  if (!memory && !product) return;
  DeviceMemory written = 0;
  std::memcpy(&written, arguments[memory ? 0 : 2], sizeof written);
  static_cast<unsigned char*>(Memory(written))[4] ^= 0x10;
}

// In the order of a stream of the runtime. The arguments are copied now: each has at most 8 bytes.
int Enqueue(const PtxKernel& kernel, unsigned blocks, unsigned threads, void* stream,
            void* const* arguments) {
  struct Work {
    const PtxKernel& kernel;
    unsigned blocks, threads;
    std::vector<uint64_t> values;
  };
  auto work = std::make_unique<Work>(Work{kernel, blocks, threads, {}});
  for (size_t i = 0; i < kernel.parameters(); ++i) {
    std::memcpy(&work->values.emplace_back(), arguments[i], sizeof(uint64_t));
  }
  void* runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (runtime == nullptr) return kNotFound;
  const auto launch =
      reinterpret_cast<int (*)(void*, void (*)(void*), void*)>(dlsym(runtime, "cudaLaunchHostFunc"));
  const auto run = [](void* data) {
    const std::unique_ptr<Work> its(static_cast<Work*>(data));
    std::vector<void*> places;
    for (uint64_t& value : its->values) places.push_back(&value);
    its->kernel.Run(its->blocks, its->threads, places.data());
  };
  return launch(stream, run, work.release());
}

[[noreturn]] void WaitForever() {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  for (;;) never.wait(lock);
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return kSuccess; }
int cuCtxGetCurrent(void** current) { return *current = &context, kSuccess; }
int cuCtxSetCurrent(void*) { return kSuccess; }
int cuDeviceGetCount(int* count) { return *count = static_cast<int>(VisibleGpus().size()), kSuccess; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, kSuccess; }
int cuDeviceGetUuid(unsigned char* uuid, int device) {
  const auto its = muster::standin::UuidOfGpu(VisibleGpus().at(static_cast<size_t>(device)));
  return std::memcpy(uuid, its.data(), its.size()), kSuccess;
}
int cuDeviceGetPCIBusId(char* id, int length, int) {
  std::strncpy(id, "0000:01:00.0", static_cast<size_t>(length));
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int, int) { return *value = kProcessors, kSuccess; }
int cuDevicePrimaryCtxRetain(void** retained, int) {
  if (HasFault("context")) return kOutOfMemory;
  return *retained = &context, kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }

int cuModuleLoadData(void** module, const void* text) {
  auto kernels = PtxKernel::ParseAll(static_cast<const char*>(text), &problem);
  if (kernels.empty()) return kInvalidPtx;
  *module = new std::vector<PtxKernel>(std::move(kernels));
  return kSuccess;
}
int cuModuleUnload(void* module) { return delete static_cast<std::vector<PtxKernel>*>(module), kSuccess; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  for (PtxKernel& kernel : *static_cast<std::vector<PtxKernel>*>(module)) {
    if (kernel.name() == name) return *function = &kernel, kSuccess;
  }
  return kNotFound;
}
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned, void* stream, void** arguments, void**) {
  if (HasFault("launch")) return kLaunchFailed;
  const auto* kernel = static_cast<const PtxKernel*>(function);
  if (stream != nullptr) return Enqueue(*kernel, blocks, threads, stream, arguments);
  kernel->Run(blocks, threads, arguments);
  Spoil(*kernel, arguments);
  return kSuccess;
}

int cuEventCreate(void** event, unsigned) { return *event = new Time, kSuccess; }
int cuEventDestroy_v2(void* event) { return delete static_cast<Time*>(event), kSuccess; }
int cuEventRecord(void* event, void*) {
  return *static_cast<Time*>(event) = std::chrono::steady_clock::now(), kSuccess;
}
int cuEventSynchronize(void*) {
  if (HasFault("hang")) WaitForever();
  return kSuccess;
}
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  *milliseconds =
      std::chrono::duration<float, std::milli>(*static_cast<Time*>(end) - *static_cast<Time*>(begin)).count();
  return kSuccess;
}

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = kFree;
  return *free = HasFault("taken") ? 0 : kFree, kSuccess;
}
int cuMemAlloc_v2(DeviceMemory* address, size_t bytes) {
  if (HasFault("full")) return kOutOfMemory;
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
