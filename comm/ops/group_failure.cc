#include "comm/ops/group_failure.h"

#include <poll.h>

#include <cerrno>

namespace muster {
namespace {

constexpr int kAskers = 4;
constexpr Duration kAskFor = std::chrono::seconds(2);
constexpr Duration kAnswerWithin = std::chrono::seconds(4);

}  // namespace

Error FailGroup(Group& group, const Error& error) {
  group.Fail(error);
  WaitForFailure(group, std::chrono::seconds(1));
  return group.failure().value_or(error);
}

bool WaitForFailure(const Group& group, Duration patience) {
  const Deadline deadline = Deadline::After(patience);
  pollfd failed{group.failure_fd(), POLLIN, 0};
  while (poll(&failed, 1, deadline.PollMilliseconds()) < 0 && errno == EINTR) {
  }
  return group.failure().has_value();
}

std::string AskForMissingRanks(Group& group, const Call& call, int rank) {
  if (call.operation == Operation::kSend || call.operation == Operation::kRecv) return {};
  for (int askers = kAskers; rank >= askers; askers *= kAskers) {
    if (WaitForFailure(group, kAnswerWithin)) return {};
  }
  return group.MissingRanks(call.communicator, call.sequence, kAskFor);
}

}  // namespace muster
