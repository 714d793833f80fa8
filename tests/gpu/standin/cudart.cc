// A CUDA runtime that computes in the memory of the process (ComputingCuda), as a library: the part that muster and the
// stand-in for NCCL call. All processes of the machine have the same GPUs (gpus.h).
//
//   STANDIN_CUDA_VERSION   the version that it claims (13000)
//   STANDIN_GPU_MEMORY     bytes that a process can allocate
//   STANDIN_GPU_FAULT      `full`: no process can use a GPU, whose memory another one has; `taken`: as in exclusive mode
//
// Without CUDA's header, whose names differ from version to version; the signatures are those of 13.0.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/comm/nccl/computing_cuda.h"
#include "tests/gpu/standin/gpus.h"

namespace {

using muster::standin::VisibleGpus;

muster::nccl::ComputingCuda& Cuda() {
  static auto& cuda = *[] {
    auto* made = new muster::nccl::ComputingCuda;
    made->count = static_cast<int>(VisibleGpus().size());
    made->device.name = muster::standin::NameOfGpu();
    return made;
  }();
  return cuda;
}

enum { kSuccess = 0, kOutOfMemory = 2, kUnavailable = 46, kNoDevice = 100 };

int FaultAtUse() {
  const char* set = std::getenv("STANDIN_GPU_FAULT");
  const std::string_view fault = set == nullptr ? "" : set;
  return fault == "full" ? kOutOfMemory : fault == "taken" ? kUnavailable : kSuccess;
}

std::atomic<size_t> allocated = 0;
bool IsFull(size_t bytes) {
  const char* most = std::getenv("STANDIN_GPU_MEMORY");
  return most != nullptr && (allocated += bytes) > std::strtoull(most, nullptr, 10) &&
         (allocated -= bytes, true);
}

int Of(muster::nccl::CudaResult result) { return static_cast<int>(result); }

constexpr int kDeviceMemory = 2;  // cudaMemoryTypeDevice

}  // namespace

extern "C" {

int cudaRuntimeGetVersion(int* version) {
  const char* set = std::getenv("STANDIN_CUDA_VERSION");
  return *version = set == nullptr ? Cuda().runtime_version() : std::atoi(set), 0;
}
int cudaDriverGetVersion(int* version) { return Of(Cuda().DriverVersion(version)); }
int cudaGetDeviceCount(int* count) {
  const int result = Of(Cuda().DeviceCount(count));
  return result == kSuccess && *count == 0 ? kNoDevice : result;
}
int cudaSetDevice(int device) {
  const int fault = FaultAtUse();
  return fault == kSuccess ? Of(Cuda().SetDevice(device)) : fault;
}
int cudaGetDevice(int* device) { return Of(Cuda().CurrentDevice(device)); }
int cudaGetLastError() { return 0; }
const char* cudaGetErrorString(int error) {
  if (error == kOutOfMemory) return "out of memory";
  if (error == kUnavailable) return "CUDA-capable device(s) is/are busy or unavailable";
  thread_local std::string text;
  return (text = Cuda().Explain(muster::nccl::CudaResult{error})).c_str();
}

// The name comes first, the UUID 256 bytes behind it.
int cudaGetDeviceProperties(char* properties, int device) {
  muster::nccl::CudaDevice described;
  const int result = Of(Cuda().Describe(device, &described));
  described.uuid = muster::standin::UuidOfGpu(VisibleGpus().at(static_cast<size_t>(device)));
  std::memset(properties, 0, 256);
  std::strcpy(properties, described.name.c_str());
  std::memcpy(properties + 256, described.uuid.data(), described.uuid.size());
  return result;
}
// The kind of memory comes first, the GPU behind it.
int cudaPointerGetAttributes(int* attributes, const void* pointer) {
  muster::nccl::CudaMemory memory;
  const int result = Of(Cuda().Locate(pointer, &memory));
  attributes[0] = memory.on_device ? kDeviceMemory : 0;
  attributes[1] = memory.device.value_or(0);
  return result;
}

int cudaEventCreateWithFlags(muster::nccl::CudaEvent* event, unsigned) {
  return Of(Cuda().CreateEvent(event));
}
int cudaEventDestroy(muster::nccl::CudaEvent event) { return Of(Cuda().DestroyEvent(event)); }
int cudaEventRecord(muster::nccl::CudaEvent event, muster::nccl::CudaStream stream) {
  return Of(Cuda().RecordEvent(event, stream));
}
int cudaEventQuery(muster::nccl::CudaEvent event) { return Of(Cuda().QueryEvent(event)); }
int cudaThreadExchangeStreamCaptureMode(muster::nccl::CudaCaptureMode* mode) {
  return Of(Cuda().ExchangeCaptureMode(mode));
}
int cudaStreamIsCapturing(muster::nccl::CudaStream stream, int* status) {
  bool capturing = false;
  const int result = Of(Cuda().IsCapturing(stream, &capturing));
  return *status = capturing ? 1 : 0, result;
}

int cudaStreamCreateWithFlags(muster::nccl::CudaStream* stream, unsigned) {
  return Of(Cuda().CreateStream(stream));
}
int cudaStreamDestroy(muster::nccl::CudaStream stream) { return Of(Cuda().DestroyStream(stream)); }
int cudaStreamSynchronize(muster::nccl::CudaStream stream) { return Of(Cuda().Synchronize(stream)); }
int cudaLaunchHostFunc(muster::nccl::CudaStream stream, void (*function)(void*), void* data) {
  Cuda().Enqueue(stream, [=] { function(data); });
  return 0;
}

int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, muster::nccl::CudaStream stream) {
  return Of(Cuda().Copy(to, from, bytes, stream));
}
int cudaMallocAsync(void** memory, size_t bytes, muster::nccl::CudaStream stream) {
  return Of(Cuda().AllocateOn(memory, bytes, stream));
}
int cudaFreeAsync(void* memory, muster::nccl::CudaStream stream) { return Of(Cuda().FreeOn(memory, stream)); }
int cudaMalloc(void** memory, size_t bytes) {
  return IsFull(bytes) ? kOutOfMemory : Of(Cuda().Allocate(memory, bytes));
}
int cudaFree(void* memory) { return Of(Cuda().Free(memory)); }

}  // extern "C"
