// What the communicators of NCCL of one process share: the one of the whole group and all Split from it.
#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>

#include "comm/nccl/cuda_api.h"
#include "comm/nccl/nccl_api.h"
#include "comm/nccl/settings.h"
#include "comm/rendezvous/group.h"
#include "comm/socket/first_error.h"

namespace muster {

struct NcclCore {
  Group& group;
  const std::shared_ptr<NcclApi> nccl;
  const std::shared_ptr<CudaApi> cuda;
  const NcclSettings settings;
  const pid_t owner = getpid();
  FirstError broken{};  // one failure ends all of them

  bool InForkedChild() const { return getpid() != owner; }
};

}  // namespace muster
