#include "comm/nccl/communicator/core.h"

#include "comm/ops/group_failure.h"

namespace muster::nccl {

Error FailWithCause(const NcclCore& core, const Error& error) {
  if (error.code == Code::kSystem) WaitForFailure(core.group, core.settings.cause_grace);
  if (const std::optional<Error> failure = core.group.failure()) return *failure;
  return FailGroup(core.group, error);
}

}  // namespace muster::nccl
