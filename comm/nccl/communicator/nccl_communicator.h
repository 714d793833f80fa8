// The public interface of the NCCL backend: a Communicator whose operations on device memory are NCCL's,
// while those on host memory, barriers and bytes of any length go over sockets.
//
// Device memory: a call queues its work on CallOptions::stream and comes back; Synchronize waits for it. The first
// calls wait for the ranks that they need, because NCCL connects them. A call's
// deadline counts from the call. Between BeginGroup and EndGroup calls are queued together, so that a Send
// and a Recv do not wait for each other. All ranks must make the same calls on device memory in the same
// order. NCCL does not compare them: a disagreement ends at the deadline, and its error names the deviating
// ranks. `avg` of integers is rounded as NCCL does it.
//
// Graphs: an operation on a stream that captures a CUDA graph becomes part of the graph, and is over when its call returns.
// No deadline limits the runs of the graph, and Synchronize does not wait for them. A lost peer and an error of NCCL
// still end them.
//
// Errors of NCCL, of the GPU, of a peer that is lost and of a deadline are the failure of the whole group.
// The communicators of every rank, also those made by Split, are then aborted. Streams go on, operations
// under way leave their buffers undefined, and every later call returns the failure. If NCCL does not return
// from an abort, the process ends (settings.h).
//
// Threads: as in communicator.h; calls on device memory of one communicator are queued one at a time. CUDA's
// current device of the calling thread may be any, and stays. (A thread that never set it gets a context on
// the first GPU: set it once.) Stream and buffers must be on this rank's device.
//
// Ownership: the Group must outlive the communicator and everything Split from it. Destruction waits for
// operations under way, at most timeouts.shutdown; in a failed group it does not wait. In a forked child
// every call returns kUsage, and destruction does nothing: CUDA and NCCL do not survive a fork.
#pragma once

#include <memory>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/group/group.h"
#include "comm/nccl/communicator/settings.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

struct NcclParts {
  std::shared_ptr<NcclApi> nccl;
  std::shared_ptr<CudaApi> cuda;
  // Of the same ranks: carries what NCCL does not.
  std::unique_ptr<Communicator> host;
};

// Collective: StartNccl's contract (start.h) is this one's.
Result<std::unique_ptr<Communicator>> MakeNcclCommunicator(Group& group, NcclParts parts,
                                                           const NcclSettings& settings, Deadline deadline);

}  // namespace muster::nccl
