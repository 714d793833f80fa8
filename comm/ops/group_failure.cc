#include "comm/ops/group_failure.h"

#include <poll.h>

#include <cerrno>

#include "comm/base/deadline.h"

namespace muster {

Error FailGroup(Group& group, const Error& error) {
  group.Fail(error);
  const Deadline deadline = Deadline::After(std::chrono::seconds(1));
  pollfd failed{group.failure_fd(), POLLIN, 0};
  while (poll(&failed, 1, deadline.PollMilliseconds()) < 0 && errno == EINTR) {
  }
  return group.failure().value_or(error);
}

}  // namespace muster
