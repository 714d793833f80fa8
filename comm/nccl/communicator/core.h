// Shared by the NCCL communicators of one process: that of the whole group, and all that Split makes from it.
#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>

#include "comm/base/error.h"
#include "comm/group/group.h"
#include "comm/nccl/communicator/settings.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/nccl/libraries/nccl_api.h"
#include "comm/ops/first_error.h"

namespace muster::nccl {

struct NcclCore {
  Group& group;
  const std::shared_ptr<NcclApi> nccl;
  const std::shared_ptr<CudaApi> cuda;
  const NcclSettings settings;
  const pid_t owner = getpid();
  FirstError broken{};  // one failure ends all of them

  bool InForkedChild() const { return getpid() != owner; }
};

// Makes `error` the group's failure, unless it has one, and returns that. An error of NCCL or the GPU
// (kSystem) waits for settings.cause_grace before: NCCL reports a lost peer as a closed connection, often
// before the control plane reports the cause. BLOCKS for that and a second more.
Error FailWithCause(const NcclCore& core, const Error& error);

}  // namespace muster::nccl
