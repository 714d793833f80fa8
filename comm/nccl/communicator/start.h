// NCCL's start on all ranks of a group: it never hangs, and its error names the ranks that did not complete
// it.
#pragma once

#include <memory>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/nccl/communicator/core.h"
#include "comm/nccl/communicator/live_comm.h"

namespace muster::nccl {

// Collective. The unique ids travel over the control plane (unique_ids.h); then every rank starts NCCL on its
// device, in a thread that can be left. BLOCKS until all ranks are through, at most until the
// deadline and settings.abort_within; for the calling thread the device is then CUDA's current one.
//
// Error: the group's failure, the same on every rank. An error of NCCL's start (kSystem) becomes that, with
// the rank's name: "rank 3 on gpu01 could not start NCCL: unhandled cuda error: ...". kDeadline names the
// ranks that had not arrived, or else those whose NCCL was still starting, with its last error text.
Status StartNccl(const NcclCore& core, const std::shared_ptr<LiveComm>& live, Deadline deadline);

}  // namespace muster::nccl
