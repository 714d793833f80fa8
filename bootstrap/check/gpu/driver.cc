#include "bootstrap/check/gpu/driver.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "comm/nccl/libraries/cuda_api.h"
#include "comm/system/shared_library.h"

namespace muster::check {

// Results are 0 or an error. Handles are pointers; a device is a number.
struct DriverFunctions {
  static std::string Ending(int result) { return fmt::format(" (error {})", result); }

  Symbols symbols;
  int (*init)(unsigned) = symbols.Need("cuInit");
  int (*error_text)(int, const char**) = symbols.Need("cuGetErrorString");
  int (*device_count)(int*) = symbols.Need("cuDeviceGetCount");
  int (*device)(int*, int) = symbols.Need("cuDeviceGet");
  // The second gives a MIG part its own; before 11.4 there is the first alone.
  int (*uuid)(uint8_t*, int) = symbols.Need("cuDeviceGetUuid");
  int (*uuid_of_part)(uint8_t*, int) = symbols.Want("cuDeviceGetUuid_v2");
  int (*pci)(char*, int, int) = symbols.Need("cuDeviceGetPCIBusId");
  int (*attribute)(int*, int, int) = symbols.Need("cuDeviceGetAttribute");
  int (*retain_context)(void**, int) = symbols.Need("cuDevicePrimaryCtxRetain");
  int (*release_context)(int) = symbols.Need("cuDevicePrimaryCtxRelease_v2");
  int (*set_context)(void*) = symbols.Need("cuCtxSetCurrent");
  int (*load_module)(void**, const void*) = symbols.Need("cuModuleLoadData");
  int (*unload_module)(void*) = symbols.Need("cuModuleUnload");
  int (*function)(void**, void*, const char*) = symbols.Need("cuModuleGetFunction");
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = symbols.Need("cuLaunchKernel");
  int (*free_memory)(size_t*, size_t*) = symbols.Need("cuMemGetInfo_v2");
  int (*allocate)(uint64_t*, size_t) = symbols.Need("cuMemAlloc_v2");
  int (*free)(uint64_t) = symbols.Need("cuMemFree_v2");
  int (*to_device)(uint64_t, const void*, size_t) = symbols.Need("cuMemcpyHtoD_v2");
  int (*to_host)(void*, uint64_t, size_t) = symbols.Need("cuMemcpyDtoH_v2");
  int (*create_event)(void**, unsigned) = symbols.Need("cuEventCreate");
  int (*destroy_event)(void*) = symbols.Need("cuEventDestroy_v2");
  int (*record_event)(void*, void*) = symbols.Need("cuEventRecord");
  int (*wait_for_event)(void*) = symbols.Need("cuEventSynchronize");
  int (*between_events)(float*, void*, void*) = symbols.Need("cuEventElapsedTime");

  Status Check(int result, std::string_view what) const {
    if (result == 0) return {};
    const char* text = nullptr;
    if (error_text(result, &text) != 0 || text == nullptr) text = "unknown error";
    return Fail(Code::kSystem, "the GPU's driver cannot {}: {}{}", what, text, Ending(result));
  }
};

namespace {

constexpr int kOutOfMemory = 2;           // CUDA_ERROR_OUT_OF_MEMORY
constexpr int kMultiprocessorCount = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT

// Without "GPU-" or "MIG-".
std::string NumberOf(const std::string& uuid) { return uuid.substr(uuid.find('-') + 1); }

}  // namespace

bool IsOutOfMemory(const Error& error) {
  return error.message.ends_with(DriverFunctions::Ending(kOutOfMemory));
}

GpuMemory::~GpuMemory() {
  if (address_ != 0) functions_->free(address_);
}

Result<std::unique_ptr<GpuDriver>> GpuDriver::Open(const std::string& uuid, const char* kernels) {
  MUSTER_TRY(const SharedLibrary library, SharedLibrary::Open({"libcuda.so.1"}, {}));
  MUSTER_TRY(const DriverFunctions functions, FindFunctions<DriverFunctions>(library));
  std::unique_ptr<GpuDriver> driver(new GpuDriver);
  driver->functions_ = std::make_unique<const DriverFunctions>(functions);
  MUSTER_CHECK(driver->UseDevice(uuid));
  MUSTER_CHECK(driver->Load(kernels));
  return driver;
}

Status GpuDriver::UseDevice(const std::string& uuid) {
  const DriverFunctions& f = *functions_;
  MUSTER_CHECK(f.Check(f.init(0), "start"));
  int count = 0;
  MUSTER_CHECK(f.Check(f.device_count(&count), "count its GPUs"));
  const auto uuid_of = f.uuid_of_part != nullptr ? f.uuid_of_part : f.uuid;
  for (int ordinal = 0;; ++ordinal) {
    if (ordinal == count) return Fail(Code::kSystem, "the GPU's driver does not list {}", uuid);
    MUSTER_CHECK(f.Check(f.device(&device_, ordinal), "open a GPU"));
    std::array<uint8_t, 16> bytes = {};
    MUSTER_CHECK(f.Check(uuid_of(bytes.data(), device_), "identify a GPU"));
    if (NumberOf(nccl::FormatGpuUuid(bytes, "")) == NumberOf(uuid)) break;
  }
  char pci[32] = {};
  MUSTER_CHECK(f.Check(f.pci(pci, sizeof pci, device_), "locate the GPU"));
  pci_ = pci;
  int processors = 0;
  MUSTER_CHECK(f.Check(f.attribute(&processors, kMultiprocessorCount, device_), "describe the GPU"));
  processors_ = static_cast<unsigned>(std::max(processors, 1));
  MUSTER_CHECK(f.Check(f.retain_context(&context_, device_), "make a context"));
  return f.Check(f.set_context(context_), "use its context");
}

Status GpuDriver::Load(const char* kernels) {
  const DriverFunctions& f = *functions_;
  MUSTER_CHECK(f.Check(f.load_module(&module_, kernels), "compile the kernels"));
  MUSTER_CHECK(f.Check(f.create_event(&begin_, 0), "make an event"));
  return f.Check(f.create_event(&end_, 0), "make an event");
}

GpuDriver::~GpuDriver() {
  if (context_ == nullptr) return;
  for (void* event : {begin_, end_}) {
    if (event != nullptr) functions_->destroy_event(event);
  }
  if (module_ != nullptr) functions_->unload_module(module_);
  functions_->release_context(device_);
}

Result<size_t> GpuDriver::FreeBytes() const {
  size_t free = 0;
  size_t total = 0;
  MUSTER_CHECK(functions_->Check(functions_->free_memory(&free, &total), "count its free memory"));
  return free;
}

Result<GpuMemory> GpuDriver::Allocate(size_t bytes) const {
  uint64_t address = 0;
  MUSTER_CHECK(functions_->Check(functions_->allocate(&address, bytes), "allocate memory"));
  return GpuMemory(*functions_, address, bytes);
}

Status GpuDriver::ToGpu(const GpuMemory& to, std::span<const std::byte> from) const {
  return functions_->Check(functions_->to_device(to.address(), from.data(), from.size()), "copy to the GPU");
}

Status GpuDriver::FromGpu(std::span<std::byte> to, const GpuMemory& from) const {
  return functions_->Check(functions_->to_host(to.data(), from.address(), to.size()), "copy from the GPU");
}

Result<Duration> GpuDriver::Run(const char* kernel, Grid grid, std::span<void*> arguments) const {
  const DriverFunctions& f = *functions_;
  void* function = nullptr;
  MUSTER_CHECK(f.Check(f.function(&function, module_, kernel), "find a kernel"));
  MUSTER_CHECK(f.Check(f.record_event(begin_, nullptr), "record an event"));
  MUSTER_CHECK(f.Check(
      f.launch(function, grid.blocks, 1, 1, grid.threads, 1, 1, 0, nullptr, arguments.data(), nullptr),
      "launch a kernel"));
  MUSTER_CHECK(f.Check(f.record_event(end_, nullptr), "record an event"));
  MUSTER_CHECK(f.Check(f.wait_for_event(end_), "run a kernel"));
  float milliseconds = 0;
  MUSTER_CHECK(f.Check(f.between_events(&milliseconds, begin_, end_), "measure a kernel"));
  return std::chrono::duration_cast<Duration>(std::chrono::duration<float, std::milli>(milliseconds));
}

}  // namespace muster::check
