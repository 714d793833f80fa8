// A CUDA runtime with one GPU, or as many as STANDIN_GPUS says, that computes in the memory of the process
// (ComputingCuda), as a library: the part that muster and the stand-in for NCCL call. All processes of the
// machine see the same.
//
// Without CUDA's header, whose names differ from version to version; the signatures are those of 13.0.
#include <cstdlib>
#include <cstring>

#include "tests/comm/nccl/computing_cuda.h"

namespace {

muster::nccl::ComputingCuda& Cuda() {
  static auto& cuda = *[] {
    auto* made = new muster::nccl::ComputingCuda;
    if (const char* gpus = std::getenv("STANDIN_GPUS")) made->count = std::atoi(gpus);
    return made;
  }();
  return cuda;
}

int Of(muster::nccl::CudaResult result) { return static_cast<int>(result); }

constexpr int kDeviceMemory = 2;  // cudaMemoryTypeDevice

}  // namespace

extern "C" {

int cudaRuntimeGetVersion(int* version) { return *version = Cuda().runtime_version(), 0; }
int cudaDriverGetVersion(int* version) { return Of(Cuda().DriverVersion(version)); }
int cudaGetDeviceCount(int* count) { return Of(Cuda().DeviceCount(count)); }
int cudaSetDevice(int device) { return Of(Cuda().SetDevice(device)); }
int cudaGetDevice(int* device) { return Of(Cuda().CurrentDevice(device)); }
int cudaGetLastError() { return 0; }
const char* cudaGetErrorString(int error) {
  thread_local std::string text;
  return (text = Cuda().Explain(muster::nccl::CudaResult{error})).c_str();
}

// The name comes first, the UUID 256 bytes behind it.
int cudaGetDeviceProperties(char* properties, int device) {
  muster::nccl::CudaDevice described;
  const int result = Of(Cuda().Describe(device, &described));
  std::memset(properties, 0, 256);
  std::strcpy(properties, described.name.c_str());
  std::memcpy(properties + 256, described.uuid.data(), described.uuid.size());
  return result;
}
int cudaDeviceGetPCIBusId(char* id, int length, int) {
  std::strncpy(id, "0000:01:00.0", static_cast<size_t>(length));
  return 0;
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
int cudaMalloc(void** memory, size_t bytes) { return Of(Cuda().Allocate(memory, bytes)); }
int cudaFree(void* memory) { return Of(Cuda().Free(memory)); }

}  // extern "C"
