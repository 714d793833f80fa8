// What the second hello told about the GPUs, as a check shows it.
#pragma once

#include <vector>

#include "bootstrap/check/findings/evidence.h"
#include "comm/nccl/devices/gpu_hello.h"

namespace muster::check {

// For each node what its first rank has told; nothing where nobody had a reason to look (`hellos` is empty).
void AddGpuFacts(const std::vector<nccl::GpuHello>& hellos, Evidence& evidence);

}  // namespace muster::check
