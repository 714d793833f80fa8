// The GPUs of this node, and what muster would use them with.
#pragma once

#include <string>

#include "bootstrap/doctor/finding.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/nccl/libraries/library_files.h"

namespace muster::doctor {

struct GpuFacts {
  bool nvidia = false;   // its kernel driver is there
  uint32_t devices = 0;  // device files of NVIDIA's
  bool amd = false;      // /dev/kfd
  Result<std::string> cuda =
      Fail(Code::kConfiguration, "not looked for");  // "12.8, driver for 13.0, 4 devices"
  Result<std::string> nccl = Fail(Code::kConfiguration, "not looked for");  // "2.27.5"
};

// Libraries are loaded only if there is a driver. BLOCKS while they load, at most until the deadline.
GpuFacts LookAtGpus(const nccl::LibraryPlaces& places, uint32_t devices, Deadline deadline);

Finding JudgeGpus(const GpuFacts& facts);

}  // namespace muster::doctor
