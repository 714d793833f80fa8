// The memory errors of a GPU that its management library (NVML) counts. The only wrapper of libnvidia-ml.so.1,
// which is opened at run time.
//
// Threads: any. BLOCKS without a deadline, as the driver does.
//
// Protocol source: NVML API reference, 11 to 13.
#pragma once

#include <string>

#include "bootstrap/check/findings/gpu_facts.h"
#include "comm/base/error.h"

namespace muster::check {

// `pci`: "0000:1b:00.0". Counts that the GPU does not keep (it has no ECC, no row remapping) stay unknown.
// Error: kConfiguration: no library; kSystem: NVML's own text.
Result<GpuMemoryErrors> ReadMemoryErrors(const std::string& pci);

}  // namespace muster::check
