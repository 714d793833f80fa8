#include "bootstrap/check/gpu/memory_errors.h"

#include "comm/system/shared_library.h"

namespace muster::check {
namespace {

// Handles are pointers; results are 0 or an error.
struct Functions {
  Symbols symbols;
  int (*init)() = symbols.Need("nvmlInit_v2");
  int (*shut_down)() = symbols.Need("nvmlShutdown");
  const char* (*error_text)(int) = symbols.Need("nvmlErrorString");
  int (*device)(const char*, void**) = symbols.Need("nvmlDeviceGetHandleByPciBusId_v2");
  int (*ecc_errors)(void*, int, int, unsigned long long*) = symbols.Need("nvmlDeviceGetTotalEccErrors");
  int (*remapped_rows)(void*, unsigned*, unsigned*, unsigned*,
                       unsigned*) = symbols.Want("nvmlDeviceGetRemappedRows");

  Status Check(int result, std::string_view what) const {
    if (result == 0) return {};
    return Fail(Code::kSystem, "NVML cannot {}: {} (error {})", what, error_text(result), result);
  }
};

enum { kNotSupported = 3 };           // NVML_ERROR_NOT_SUPPORTED
enum { kCorrected, kUncorrected };    // nvmlMemoryErrorType_t
enum { kSinceTheDriverStarted = 0 };  // NVML_VOLATILE_ECC

Status Read(const Functions& nvml, const std::string& pci, GpuMemoryErrors& errors) {
  void* device = nullptr;
  MUSTER_CHECK(nvml.Check(nvml.device(pci.c_str(), &device), "find GPU " + pci));
  for (const auto& [kind, count] :
       {std::pair(kCorrected, &errors.corrected), std::pair(kUncorrected, &errors.uncorrected)}) {
    unsigned long long counted = 0;
    const int result = nvml.ecc_errors(device, kind, kSinceTheDriverStarted, &counted);
    if (result == kNotSupported) continue;
    MUSTER_CHECK(nvml.Check(result, "count memory errors"));
    *count = counted;
  }
  if (nvml.remapped_rows == nullptr) return {};
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  const int result = nvml.remapped_rows(device, &corrected, &uncorrected, &pending, &failed);
  if (result == kNotSupported) return {};
  MUSTER_CHECK(nvml.Check(result, "count remapped rows"));
  errors.remap_pending = pending != 0;
  errors.remap_failed = failed != 0;
  return {};
}

}  // namespace

Result<GpuMemoryErrors> ReadMemoryErrors(const std::string& pci) {
  MUSTER_TRY(const SharedLibrary library, SharedLibrary::Open({"libnvidia-ml.so.1"}, {}));
  MUSTER_TRY(const Functions nvml, FindFunctions<Functions>(library));
  MUSTER_CHECK(nvml.Check(nvml.init(), "start"));
  GpuMemoryErrors errors;
  const Status read = Read(nvml, pci, errors);
  nvml.shut_down();
  MUSTER_CHECK(read);
  return errors;
}

}  // namespace muster::check
