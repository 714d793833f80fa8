// Whose fault it is when NCCL gives up: the control plane may know better, a little later.
#pragma once

#include "comm/base/error.h"
#include "comm/nccl/communicator/core.h"

namespace muster::nccl {

// Makes `error` the group's failure, unless it has one, and returns that. What NCCL or the GPU reports
// (kSystem) waits for settings.cause_grace before: NCCL sees a lost peer as a closed connection, and often
// before the control plane has its word through. BLOCKS for that and a second more.
Error FailWithCause(const NcclCore& core, const Error& error);

}  // namespace muster::nccl
