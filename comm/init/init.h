// From a Group to a Communicator: chooses the backend and builds it. The top of comm/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/group/group.h"
#include "comm/nccl/nccl_backend.h"
#include "comm/options.h"
#include "comm/socket/transport/endpoint.h"

namespace muster {

// Options of the data plane. A value; the defaults never probe for a GPU.
struct DataOptions {
  TimeoutOptions timeouts;
  Backend backend = Backend::kSocket;
  Protect protect = Protect::kControl;
  // This process passes host memory only, which NCCL does not carry. With backend auto, one such rank makes
  // the whole group use sockets.
  bool host_only = false;
  NcclOptions nccl;
  std::vector<std::string> interfaces;  // for NCCL's sockets; empty: it chooses
  bool route_nccl_log = true;           // off: NCCL_DEBUG_FILE is the user's own
  bool nccl_not_blocking = false;       // by NCCL_COMM_BLOCKING, which is unset
  nccl::GpuSurroundings gpu = nccl::RealSurroundings({}, "");
};

struct DataPlane {
  std::unique_ptr<Communicator> communicator;
  std::vector<nccl::GpuHello> gpus;  // by rank; empty if no rank had a reason to probe
};

// This rank's report of its data plane: its addresses, and whether it may have a GPU, according to files.
Bytes DataPayload(const socket::SocketEndpoint& endpoint, const DataOptions& options);

// Sends `endpoint`'s addresses to all ranks over the control plane, then builds the communicator. BLOCKS
// until every rank of the group has arrived here and, if there are GPUs, NCCL has started; one deadline is
// for all of it. Errors include TakeNcclWhereAgreed's. kDisagreement if `backend` is nccl and some ranks, but
// not all, take host memory only. `group` must outlive the communicator.
Result<DataPlane> BuildCommunicator(Group& group, std::unique_ptr<socket::SocketEndpoint> endpoint,
                                    const DataOptions& options, Deadline deadline);

// The same if every rank sent DataPayload() in the rendezvous: the roster has all reports, and without any
// GPU there is no further exchange. Error: kDisagreement, names a rank that sent another payload.
Result<DataPlane> BuildCommunicatorFromRoster(Group& group, std::unique_ptr<socket::SocketEndpoint> endpoint,
                                              const DataOptions& options, Deadline deadline);

// Nothing is opened, nothing blocks, unless device memory may be passed (not host_only) and `backend` is
// nccl, or auto if there may be a GPU: then as TakeNcclWhereAgreed, so that a program with device memory
// works here as with many ranks.
Result<DataPlane> BuildCommunicatorOfOne(Group& group, const DataOptions& options, Deadline deadline);

}  // namespace muster
