// NVIDIA's management library for the GPUs of the other stand-ins, as a library: the part that bootstrap/check/gpu
// calls. STANDIN_GPU_ERRORS is `CORRECTED UNCORRECTED PENDING FAILED`, four numbers; without it a GPU counts none.
// STANDIN_GPU_USER is the number of a process that has 3 GiB of each GPU, in addition to this process.
//
// Without NVML's header; the signatures are those of 13.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

enum { kSuccess = 0, kNotSupported = 3 };

struct Counted {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
};

bool Read(Counted& counted) {
  const char* set = std::getenv("STANDIN_GPU_ERRORS");
  return set != nullptr && std::sscanf(set, "%u %u %u %u", &counted.corrected, &counted.uncorrected,
                                       &counted.pending, &counted.failed) == 4;
}

int device = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int) { return "an error of the stand-in"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** found) { return *found = &device, kSuccess; }
int nvmlDeviceGetHandleByUUID(const char*, void** found) { return *found = &device, kSuccess; }
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* found) {
  const char* user = std::getenv("STANDIN_GPU_USER");
  if (user == nullptr) return kNotSupported;
  found[0] = {static_cast<unsigned>(getpid()), 1 << 20, 0, 0};
  found[1] = {static_cast<unsigned>(std::atoi(user)), 3ull << 30, 0, 0};
  return *count = 2, kSuccess;
}
int nvmlDeviceGetTotalEccErrors(void*, int kind, int, unsigned long long* count) {
  Counted counted;
  if (!Read(counted)) return kNotSupported;
  return *count = kind == 0 ? counted.corrected : counted.uncorrected, kSuccess;
}
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  Counted counted;
  if (!Read(counted)) return kNotSupported;
  *corrected = *uncorrected = 0;
  *pending = counted.pending;
  *failed = counted.failed;
  return kSuccess;
}

}  // extern "C"
