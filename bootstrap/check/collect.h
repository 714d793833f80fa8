// A check of a formed group, from facts to collectives. The ranks exchange facts over the control plane,
// which works even if the connections under test do not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/check/findings/evidence.h"
#include "bootstrap/check/gpu/gpu_check.h"
#include "comm/communicator.h"
#include "comm/group/group.h"
#include "comm/options.h"

namespace muster::check {

struct CollectOptions {
  bool bandwidth = true;
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES of this process
  // By rank, uuid empty: none. Empty: the group does not use GPUs.
  std::vector<GpuToCheck> gpus;
  TimeoutOptions timeouts;
};

// BLOCKS; collective. Fills everything of the Evidence but launcher, job and formed_in. A collective that
// broke down is evidence; any other failure of the group is an Error.
Result<Evidence> CollectEvidence(Group& group, Communicator& communicator, const CollectOptions& options);

}  // namespace muster::check
