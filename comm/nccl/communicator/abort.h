// Stops NCCL after an error: an abort ends its kernels, threads and calls.
#pragma once

#include <memory>
#include <vector>

#include "comm/base/error.h"
#include "comm/nccl/communicator/core.h"
#include "comm/nccl/communicator/live_comm.h"

namespace muster::nccl {

// Aborts the communicators that were not taken, all in one group, so that none waits for another, and ends the calls
// under way on them. One that is out of reach (live_comm.h) is left to a thread of its own. BLOCKS for at most
// settings.abort_within. If NCCL has not returned by then, settings.end_process is called with `cause` as the reason
// (kPeerLost). True: it returned, and the process may form a new group.
bool AbortAll(const NcclCore& core, const std::vector<std::shared_ptr<LiveComm>>& comms, const Error& cause);

}  // namespace muster::nccl
