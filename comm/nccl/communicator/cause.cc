#include "comm/nccl/communicator/cause.h"

#include <poll.h>

#include <cerrno>

#include "comm/ops/group_failure.h"

namespace muster::nccl {

bool WaitForFailure(const Group& group, Duration patience) {
  const Deadline deadline = Deadline::After(patience);
  pollfd failed{group.failure_fd(), POLLIN, 0};
  while (poll(&failed, 1, deadline.PollMilliseconds()) < 0 && errno == EINTR) {
  }
  return group.failure().has_value();
}

Error FailWithCause(const NcclCore& core, const Error& error) {
  if (error.code == Code::kSystem) WaitForFailure(core.group, core.settings.cause_grace);
  if (const std::optional<Error> failure = core.group.failure()) return *failure;
  return FailGroup(core.group, error);
}

}  // namespace muster::nccl
