// Decides whether this group uses NCCL, and starts it. In the second hello every rank reports its GPU, and
// all ranks reach the same decision. The top of this room.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/group/group.h"
#include "comm/nccl/devices/gpu_hello.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/nccl/libraries/library_files.h"
#include "comm/nccl/libraries/nccl_api.h"
#include "comm/options.h"

namespace muster::nccl {

// The sources of GPUs and libraries. Functions that BLOCK are called so that they can be abandoned.
struct GpuSurroundings {
  std::function<bool()> has_device;  // cheap: from files alone
  std::function<Result<std::unique_ptr<CudaApi>>()> load_cuda;
  std::function<Result<std::unique_ptr<NcclApi>>()> load_nccl;
  std::string visible_list;  // CUDA_VISIBLE_DEVICES
};
GpuSurroundings RealSurroundings(const LibraryPlaces& places, std::string visible_list);

struct NcclRequest {
  Backend configured = Backend::kAuto;  // kAuto or kNccl
  NcclOptions options;
  TimeoutOptions timeouts;
  std::vector<std::string> interfaces;  // for NCCL's sockets; empty: it chooses
  bool route_log = true;                // off: NCCL_DEBUG_FILE is the user's own
  bool not_blocking = false;            // by NCCL_COMM_BLOCKING, which is unset
  Protect protect = Protect::kControl;
};

struct ChosenBackend {
  std::unique_ptr<Communicator> communicator;
  std::vector<GpuHello> hellos;  // by rank
};

// Collective. `host` carries host memory, and everything if the group does not use NCCL. BLOCKS until every
// rank has come and, if they have GPUs, NCCL has started: both by the earliest deadline of any rank. If NCCL
// is used, this rank's GPU becomes CUDA's current device for the calling thread.
//
// Error: as AgreeOnBackend, CheckNcclProtection and StartNccl; kConfiguration if a rank has visible GPUs and
// cannot determine its own (names the rank, the same error on all ranks).
Result<ChosenBackend> TakeNcclWhereAgreed(Group& group, std::unique_ptr<Communicator> host,
                                          const GpuSurroundings& surroundings, const NcclRequest& request,
                                          Deadline deadline);

}  // namespace muster::nccl
