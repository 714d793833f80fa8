// The GPUs of this node, and what muster would use them with.
#pragma once

#include <string>

#include "bootstrap/doctor/finding.h"
#include "bootstrap/resources/gpu_count.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/nccl/libraries/library_files.h"

namespace muster::doctor {

struct GpuFacts {
  std::string vendor;    // "NVIDIA" if its kernel driver is there, else "AMD" or "Intel"; empty: no GPU
  uint32_t devices = 0;  // of that vendor
  Result<std::string> cuda =
      Fail(Code::kConfiguration, "not looked for");  // "12.8, driver for 13.0, 4 devices"
  Result<std::string> nccl = Fail(Code::kConfiguration, "not looked for");  // "2.27.5"
};

// `nvidia`: device files of NVIDIA. `count`: by files alone. Libraries are loaded only if NVIDIA's driver
// is there. BLOCKS while they load, for each at most `each`.
GpuFacts LookAtGpus(const nccl::LibraryPlaces& places, uint32_t nvidia, const GpuCount& count, Duration each);

Finding JudgeGpus(const GpuFacts& facts);

}  // namespace muster::doctor
