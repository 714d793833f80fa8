#include "bootstrap/check/gpu/memory_errors.h"

#include <algorithm>
#include <array>
#include <span>

#include "comm/system/shared_library.h"

namespace muster::check {
namespace {

// nvmlProcessInfo_t
struct NvmlProcess {
  unsigned pid;
  unsigned long long bytes;  // ~0: not known
  unsigned gpu_instance;
  unsigned compute_instance;
};

// Handles are pointers; results are 0 or an error.
struct Functions {
  Symbols symbols;
  int (*init)() = symbols.Need("nvmlInit_v2");
  int (*shut_down)() = symbols.Need("nvmlShutdown");
  const char* (*error_text)(int) = symbols.Need("nvmlErrorString");
  int (*device)(const char*, void**) = symbols.Need("nvmlDeviceGetHandleByPciBusId_v2");
  int (*device_of_uuid)(const char*, void**) = symbols.Want("nvmlDeviceGetHandleByUUID");
  int (*users)(void*, unsigned*, NvmlProcess*) = symbols.Want("nvmlDeviceGetComputeRunningProcesses_v3");
  int (*ecc_errors)(void*, int, int, unsigned long long*) = symbols.Need("nvmlDeviceGetTotalEccErrors");
  int (*remapped_rows)(void*, unsigned*, unsigned*, unsigned*,
                       unsigned*) = symbols.Want("nvmlDeviceGetRemappedRows");

  Status Check(int result, std::string_view what) const {
    if (result == 0) return {};
    return Fail(Code::kSystem, "NVML cannot {}: {} (error {})", what, error_text(result), result);
  }
};

constexpr size_t kMostUsers = 256;
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

Status ReadUsers(const Functions& nvml, const std::string& uuid, std::vector<GpuUser>& users) {
  if (nvml.device_of_uuid == nullptr || nvml.users == nullptr)
    return Fail(Code::kSystem, "NVML cannot list processes: it is too old");
  void* device = nullptr;
  MUSTER_CHECK(nvml.Check(nvml.device_of_uuid(uuid.c_str(), &device), "find " + uuid));
  std::array<NvmlProcess, kMostUsers> found{};
  unsigned count = found.size();
  MUSTER_CHECK(nvml.Check(nvml.users(device, &count, found.data()), "list processes"));
  for (const NvmlProcess& user : std::span(found).first(std::min<size_t>(count, found.size())))
    users.push_back({static_cast<int>(user.pid), user.bytes});
  return {};
}

// `read` between NVML's start and end.
template <typename Read>
Status WithNvml(const Read& read) {
  MUSTER_TRY(const SharedLibrary library, SharedLibrary::Open({"libnvidia-ml.so.1"}, {}));
  MUSTER_TRY(const Functions nvml, FindFunctions<Functions>(library));
  MUSTER_CHECK(nvml.Check(nvml.init(), "start"));
  const Status done = read(nvml);
  nvml.shut_down();
  return done;
}

}  // namespace

Result<GpuMemoryErrors> ReadMemoryErrors(const std::string& pci) {
  GpuMemoryErrors errors;
  MUSTER_CHECK(WithNvml([&](const Functions& nvml) { return Read(nvml, pci, errors); }));
  return errors;
}

Result<std::vector<GpuUser>> ReadGpuUsers(const std::string& uuid) {
  std::vector<GpuUser> users;
  MUSTER_CHECK(WithNvml([&](const Functions& nvml) { return ReadUsers(nvml, uuid, users); }));
  return users;
}

}  // namespace muster::check
