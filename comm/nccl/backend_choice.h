// The backend of the whole group, from the findings of every rank about its GPU. A pure function, the same on
// every rank: one broken GPU must not silently move 512 ranks to TCP.
#pragma once

#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/nccl/devices/gpu_verdict.h"
#include "comm/options.h"
#include "comm/roster.h"

namespace muster::nccl {

struct BackendChoice {
  Backend backend = Backend::kSocket;  // never kAuto
  std::string why;                     // for the log: "no rank has a GPU; rank 0 on gpu01: no GPU"

  friend bool operator==(const BackendChoice&, const BackendChoice&) = default;
};

// socket: as configured. auto: nccl if every rank has its own GPU, socket if none has one; kDisagreement for
// a mixture, names the nodes. nccl: kConfiguration names the first rank without a GPU, with the reason. Two
// ranks of a node on one GPU: kDisagreement, names both, unless `share_device`.
Result<BackendChoice> AgreeOnBackend(Backend configured, const Roster& roster,
                                     const std::vector<GpuVerdict>& verdict_of_rank, bool share_device);

// NCCL's own connections are plain. Error: kConfiguration if `protect` is all and they would leave a node:
// requested protection must not be missing silently, and a whole group must not silently run without its
// GPUs.
Status CheckNcclProtection(Protect protect, const Roster& roster);

}  // namespace muster::nccl
