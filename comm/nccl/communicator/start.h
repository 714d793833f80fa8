// NCCL's start on all ranks of a group: it never hangs, and who did not get through is named.
#pragma once

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/nccl/communicator/core.h"

namespace muster::nccl {

// Collective. The unique ids travel over the control plane (unique_ids.h); then every rank starts NCCL on its
// device without blocking and asks until it is done. BLOCKS until all ranks are through, at most until the
// deadline and settings.abort_within; for the calling thread the device is then CUDA's current one.
//
// Error: the group's failure, the same on every rank. What NCCL itself says of its start (kSystem) becomes
// that, with the rank's name: "rank 3 on gpu01 could not start NCCL: unhandled cuda error: ...". kDeadline
// names who had not come to it, or else whose NCCL was still starting, and what its last words were.
Result<NcclComm> StartNccl(const NcclCore& core, Deadline deadline);

}  // namespace muster::nccl
