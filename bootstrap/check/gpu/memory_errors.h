// The memory errors of a GPU and the processes that use it, from its management library (NVML). The only wrapper of libnvidia-ml.so.1,
// which is opened at run time.
//
// Threads: any. BLOCKS without a deadline, as the driver does.
//
// Protocol source: NVML API reference, 11 to 13.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/check/findings/gpu_facts.h"
#include "comm/base/error.h"

namespace muster::check {

// `pci`: "0000:1b:00.0". Counts that the GPU does not keep (it has no ECC, no row remapping) stay unknown.
// Error: kConfiguration: no library; kSystem: NVML's own text.
Result<GpuMemoryErrors> ReadMemoryErrors(const std::string& pci);

// A process that computes on a GPU.
struct GpuUser {
  int pid = 0;                // in the driver's process namespace
  uint64_t bytes = kUnknown;  // of the GPU's memory
};
// `uuid`: "GPU-3b8f...", of a MIG part "MIG-3b8f...". Error: as above; kSystem with drivers before 510.
Result<std::vector<GpuUser>> ReadGpuUsers(const std::string& uuid);

}  // namespace muster::check
