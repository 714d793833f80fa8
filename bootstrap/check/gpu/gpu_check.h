// The check of one GPU: memory that is written and read back, a matrix product with a known result, the
// rates of both, and the GPU's counts of memory errors.
//
// Values of the product are whole numbers below 2^24: every order of additions gives the same float.
#pragma once

#include <string>

#include "bootstrap/check/findings/gpu_facts.h"
#include "comm/base/deadline.h"

namespace muster::check {

struct GpuToCheck {
  std::string uuid;  // "GPU-3b8f..."
  std::string name;
};

// `rates`: the best of several rounds over up to 256 MiB; without them one round of each value over up to 16 MiB. At
// most an eighth of the GPU's free memory is used. BLOCKS until `patience` has passed: then the facts have that as
// their problem, and the calls that hang are left behind on their thread. The same when `stop_fd` becomes readable.
GpuFacts CheckGpu(const GpuToCheck& gpu, bool rates, Duration patience, int stop_fd = -1);

}  // namespace muster::check
