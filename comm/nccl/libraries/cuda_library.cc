#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>

#include "comm/nccl/libraries/libraries.h"
#include "comm/system/shared_library.h"

namespace muster::nccl {
namespace {

static_assert(static_cast<int>(CudaResult::kUnloading) == cudaErrorCudartUnloading);
static_assert(static_cast<int>(CudaResult::kInsufficientDriver) == cudaErrorInsufficientDriver);
static_assert(static_cast<int>(CudaResult::kNoDevice) == cudaErrorNoDevice);
static_assert(static_cast<int>(CudaResult::kNotReady) == cudaErrorNotReady);
static_assert(static_cast<int>(CudaCaptureMode::kRelaxed) == cudaStreamCaptureModeRelaxed);

// cudaDeviceProp grew with almost every version; these two have never moved. The library writes its own
// version of the structure into memory that is enough for any.
static_assert(offsetof(cudaDeviceProp, name) == 0 && offsetof(cudaDeviceProp, uuid) == 256);
struct alignas(16) AnyDeviceProperties {
  char name[256];
  uint8_t uuid[16];
  char rest[16'384];
};
static_assert(sizeof(AnyDeviceProperties) > 2 * sizeof(cudaDeviceProp));

// cudaPointerAttributes has grown at its end.
struct alignas(16) AnyPointerAttributes {
  cudaMemoryType type;
  int device;
  char rest[1'024];
};
static_assert(offsetof(cudaPointerAttributes, type) == 0 && offsetof(cudaPointerAttributes, device) == 4);

struct Functions {
  Symbols symbols;
  decltype(cudaDriverGetVersion)* driver_version = symbols.Need("cudaDriverGetVersion");
  decltype(cudaGetDeviceCount)* device_count = symbols.Need("cudaGetDeviceCount");
  cudaError_t (*properties)(AnyDeviceProperties*, int) = symbols.Need("cudaGetDeviceProperties");
  decltype(cudaSetDevice)* set_device = symbols.Need("cudaSetDevice");
  decltype(cudaGetDevice)* current_device = symbols.Need("cudaGetDevice");
  cudaError_t (*pointer_attributes)(AnyPointerAttributes*,
                                    const void*) = symbols.Need("cudaPointerGetAttributes");
  cudaError_t (*create_event)(cudaEvent_t*, unsigned) = symbols.Need("cudaEventCreateWithFlags");
  decltype(cudaEventDestroy)* destroy_event = symbols.Need("cudaEventDestroy");
  cudaError_t (*record_event)(cudaEvent_t, cudaStream_t) = symbols.Need("cudaEventRecord");
  decltype(cudaEventQuery)* query_event = symbols.Need("cudaEventQuery");
  decltype(cudaThreadExchangeStreamCaptureMode)* exchange_mode =
      symbols.Need("cudaThreadExchangeStreamCaptureMode");
  cudaError_t (*is_capturing)(cudaStream_t, cudaStreamCaptureStatus*) = symbols.Need("cudaStreamIsCapturing");
  cudaError_t (*copy)(void*, const void*, size_t, cudaMemcpyKind,
                      cudaStream_t) = symbols.Need("cudaMemcpyAsync");
  cudaError_t (*allocate_on)(void**, size_t, cudaStream_t) = symbols.Need("cudaMallocAsync");
  cudaError_t (*free_on)(void*, cudaStream_t) = symbols.Need("cudaFreeAsync");
  decltype(cudaGetErrorString)* error_string = symbols.Need("cudaGetErrorString");
  decltype(cudaGetLastError)* last_error = symbols.Need("cudaGetLastError");
};

Result<int> CheckVersion(const SharedLibrary& library) {
  decltype(cudaRuntimeGetVersion)* get_version = nullptr;
  MUSTER_CHECK(library.Need("cudaRuntimeGetVersion", &get_version));
  int version = 0;
  if (get_version(&version) != cudaSuccess) {
    return Fail(Code::kConfiguration, "{} does not report its version", library.path());
  }
  if (version >= kLeastCuda) return version;
  return WithHint(
      Fail(Code::kConfiguration, "{} is the runtime of CUDA {}", library.path(), FormatCudaVersion(version)),
      fmt::format("install CUDA {} or newer", FormatCudaVersion(kLeastCuda)));
}

class CudaLibrary final : public CudaApi {
 public:
  CudaLibrary(std::string path, int version, const Functions& functions)
      : path_(std::move(path)), version_(version), f_(functions) {}

  int runtime_version() const override { return version_; }
  std::string path() const override { return path_; }

  CudaResult DriverVersion(int* version) override { return Of(f_.driver_version(version)); }
  CudaResult DeviceCount(int* count) override { return Of(f_.device_count(count)); }
  CudaResult Describe(int ordinal, CudaDevice* device) override {
    AnyDeviceProperties properties = {};
    const CudaResult result = Of(f_.properties(&properties, ordinal));
    if (result != CudaResult::kSuccess) return result;
    device->name.assign(properties.name, strnlen(properties.name, sizeof properties.name));
    std::memcpy(device->uuid.data(), properties.uuid, sizeof properties.uuid);
    return result;
  }
  CudaResult SetDevice(int ordinal) override { return Of(f_.set_device(ordinal)); }
  CudaResult CurrentDevice(int* ordinal) override { return Of(f_.current_device(ordinal)); }
  CudaResult Locate(const void* pointer, CudaMemory* memory) override {
    AnyPointerAttributes attributes = {};
    const CudaResult result = Of(f_.pointer_attributes(&attributes, pointer));
    if (result != CudaResult::kSuccess) return result;
    const bool of_one = attributes.type == cudaMemoryTypeDevice;
    memory->on_device = of_one || attributes.type == cudaMemoryTypeManaged;
    if (of_one) memory->device = attributes.device;
    return result;
  }

  CudaResult CreateEvent(CudaEvent* event) override {
    return Of(f_.create_event(event, cudaEventDisableTiming));
  }
  CudaResult DestroyEvent(CudaEvent event) override { return Of(f_.destroy_event(event)); }
  CudaResult RecordEvent(CudaEvent event, CudaStream stream) override {
    return Of(f_.record_event(event, stream));
  }
  CudaResult QueryEvent(CudaEvent event) override { return Of(f_.query_event(event)); }

  CudaResult ExchangeCaptureMode(CudaCaptureMode* mode) override {
    auto theirs = static_cast<cudaStreamCaptureMode>(*mode);
    const CudaResult result = Of(f_.exchange_mode(&theirs));
    *mode = static_cast<CudaCaptureMode>(theirs);
    return result;
  }
  CudaResult IsCapturing(CudaStream stream, bool* capturing) override {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const CudaResult result = Of(f_.is_capturing(stream, &status));
    *capturing = status != cudaStreamCaptureStatusNone;
    return result;
  }

  CudaResult Copy(void* to, const void* from, size_t bytes, CudaStream stream) override {
    return Of(f_.copy(to, from, bytes, cudaMemcpyDefault, stream));
  }
  CudaResult AllocateOn(void** memory, size_t bytes, CudaStream stream) override {
    return Of(f_.allocate_on(memory, bytes, stream));
  }
  CudaResult FreeOn(void* memory, CudaStream stream) override { return Of(f_.free_on(memory, stream)); }

  std::string Explain(CudaResult result) const override {
    return f_.error_string(static_cast<cudaError_t>(result));
  }

 private:
  // An error that was returned here must not appear in the program's own next cudaGetLastError.
  CudaResult Of(cudaError_t result) const {
    if (result != cudaSuccess) f_.last_error();
    return static_cast<CudaResult>(result);
  }

  const std::string path_;
  const int version_;
  const Functions f_;
};

}  // namespace

Result<std::unique_ptr<CudaApi>> LoadCuda(const LibraryFiles& files) {
  Result<SharedLibrary> library = SharedLibrary::Open(
      {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}, files.preferred, files.last_resorts);
  if (!library) {
    return WithHint(
        Fail(library.error()),
        "install the CUDA runtime (pip install nvidia-cuda-runtime, or the toolkit), set CUDA_HOME, or "
        "set backend: socket");
  }
  MUSTER_TRY(const int version, CheckVersion(*library));
  MUSTER_TRY(const Functions functions, FindFunctions<Functions>(*library));
  return std::make_unique<CudaLibrary>(library->path(), version, functions);
}

}  // namespace muster::nccl
