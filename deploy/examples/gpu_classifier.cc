#include "deploy/examples/gpu_classifier.h"

#include <dlfcn.h>

#include <memory>

namespace muster::examples {
namespace {

using DeviceMemory = unsigned long long;  // CUdeviceptr

constexpr unsigned kThreads = 128;

// The driver's functions that are used; results are 0 or an error. Handles are pointers.
struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*current_context)(void**) = nullptr;
  int (*set_context)(void*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*retain_context)(void**, int) = nullptr;
  int (*load_module)(void**, const void*) = nullptr;
  int (*function)(void**, void*, const char*) = nullptr;
  int (*allocate)(DeviceMemory*, size_t) = nullptr;
  int (*free)(DeviceMemory) = nullptr;
  int (*to_device)(DeviceMemory, const void*, size_t) = nullptr;
  int (*to_host)(void*, DeviceMemory, size_t) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;
  int (*name_of)(int, const char**) = nullptr;

  Status Check(int result, std::string_view what) const {
    if (result == 0) return {};
    const char* name = nullptr;
    name_of(result, &name);
    return Fail(Code::kSystem, "the GPU's driver cannot {}: {}", what,
                name == nullptr ? "unknown error" : name);
  }
};

Result<Driver> OpenDriver() {
  // Stays open: the driver has threads of its own.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Fail(Code::kConfiguration, "no CUDA driver: {}", dlerror());
  Driver driver;
  std::string missing;
  const auto find = [&]<typename Function>(const char* name, Function** function) {
    *function = reinterpret_cast<Function*>(dlsym(library, name));
    if (*function == nullptr) missing = name;
  };
  find("cuInit", &driver.init);
  find("cuCtxGetCurrent", &driver.current_context);
  find("cuCtxSetCurrent", &driver.set_context);
  find("cuDeviceGet", &driver.device);
  find("cuDevicePrimaryCtxRetain", &driver.retain_context);
  find("cuModuleLoadData", &driver.load_module);
  find("cuModuleGetFunction", &driver.function);
  find("cuMemAlloc_v2", &driver.allocate);
  find("cuMemFree_v2", &driver.free);
  find("cuMemcpyHtoD_v2", &driver.to_device);
  find("cuMemcpyDtoH_v2", &driver.to_host);
  find("cuLaunchKernel", &driver.launch);
  find("cuGetErrorString", &driver.name_of);
  if (!missing.empty()) return Fail(Code::kConfiguration, "libcuda.so.1 has no {}", missing);
  return driver;
}

// The program's current context, else that of the first GPU.
Status UseContext(const Driver& driver) {
  MUSTER_CHECK(driver.Check(driver.init(0), "start"));
  void* context = nullptr;
  MUSTER_CHECK(driver.Check(driver.current_context(&context), "say its context"));
  if (context != nullptr) return {};
  int device = 0;
  MUSTER_CHECK(driver.Check(driver.device(&device, 0), "find a GPU"));
  MUSTER_CHECK(driver.Check(driver.retain_context(&context, device), "make a context"));
  return driver.Check(driver.set_context(context), "use its context");
}

// The data set on the GPU, and room for the answers.
class GpuDigits {
 public:
  explicit GpuDigits(const Driver& driver) : driver_(driver) {}
  GpuDigits(const GpuDigits&) = delete;
  GpuDigits& operator=(const GpuDigits&) = delete;
  ~GpuDigits() {
    for (const DeviceMemory memory : {pixels_, labels_, predictions_}) {
      if (memory != 0) driver_.free(memory);
    }
  }

  Status Load(const Digits& digits) {
    images_ = static_cast<unsigned>(digits.size());
    void* module = nullptr;
    MUSTER_CHECK(driver_.Check(driver_.load_module(&module, kDigitsKernel), "compile the kernel"));
    MUSTER_CHECK(driver_.Check(driver_.function(&kernel_, module, "digits_nearest"), "find the kernel"));
    MUSTER_CHECK(Copy(digits.pixels, pixels_));
    MUSTER_CHECK(Copy(digits.labels, labels_));
    return driver_.Check(driver_.allocate(&predictions_, digits.size()), "allocate memory");
  }

  Status Classify(RowRange rows, std::span<uint8_t> predictions) {
    auto first = static_cast<unsigned>(rows.begin);
    auto count = static_cast<unsigned>(rows.size());
    if (count == 0) return {};
    void* arguments[] = {&pixels_, &labels_, &images_, &first, &count, &predictions_};
    const unsigned blocks = (count + kThreads - 1) / kThreads;
    MUSTER_CHECK(
        driver_.Check(driver_.launch(kernel_, blocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr),
                      "launch the kernel"));
    return driver_.Check(driver_.to_host(predictions.data(), predictions_, count), "run the kernel");
  }

 private:
  Status Copy(const std::vector<uint8_t>& from, DeviceMemory& to) {
    MUSTER_CHECK(driver_.Check(driver_.allocate(&to, from.size()), "allocate memory"));
    return driver_.Check(driver_.to_device(to, from.data(), from.size()), "copy to the GPU");
  }

  const Driver driver_;
  void* kernel_ = nullptr;
  unsigned images_ = 0;
  DeviceMemory pixels_ = 0;
  DeviceMemory labels_ = 0;
  DeviceMemory predictions_ = 0;
};

}  // namespace

Result<Classifier> MakeGpuClassifier(const Digits& digits) {
  MUSTER_TRY(const Driver driver, OpenDriver());
  MUSTER_CHECK(UseContext(driver));
  const auto gpu = std::make_shared<GpuDigits>(driver);
  MUSTER_CHECK(gpu->Load(digits));
  return [gpu](const Digits&, RowRange rows, std::span<uint8_t> predictions) {
    return gpu->Classify(rows, predictions);
  };
}

}  // namespace muster::examples
