#include "comm/socket/engine/current_call.h"

#include <algorithm>
#include <set>
#include <string>

#include "comm/ops/group_failure.h"
#include "comm/roster.h"

namespace muster::socket {

CurrentCall::CurrentCall(ConnectionSet& connections, CallHistory* history,
                         const ProgressEngineOptions& options)
    : connections_(connections),
      group_(connections.mesh().group()),
      latest_(options.latest),
      closed_(options.closed),
      failures_(connections, call_, options.cause_grace, options.peer_has_left),
      stall_monitor_(connections.mesh(), history, options.patience) {}

void CurrentCall::Begin(const Call& call, Duration timeout, std::optional<Deadline> deadline) {
  call_ = call;
  clock_.Begin(timeout, deadline);
}

void CurrentCall::End() {
  failures_.Clear();
  if (clock_.started()) stall_monitor_.End();
  clock_.Stop();
}

void CurrentCall::StartClockNow() {
  clock_.Start(latest_.IsNever() ? group_.latest() : latest_);
  stall_monitor_.Begin(call_);
  Served();
}

Deadline CurrentCall::wake() const {
  return clock_.deadline().EarlierOf(stall_monitor_.wake()).EarlierOf(failures_.report_at());
}

void CurrentCall::Postpone(Duration stall) {
  clock_.Postpone(stall);
  failures_.Postpone(stall);
  stall_monitor_.Postpone(stall);
}

void CurrentCall::NoticeGone(const std::vector<int>& peers) {
  const std::set<int>& gone = stall_monitor_.Gone();
  for (const int peer : peers) {
    if (gone.contains(connections_.WorldRank(peer)) && connections_.Existing(peer) == nullptr)
      failures_.OnLeft(peer);
  }
}

WaitVerdict CurrentCall::verdict() const {
  return Judge(clock_.deadline(), failures_.any_lost(), failures_.report_at(), Clock::now());
}

tl::unexpected<Error> CurrentCall::Fail(WaitVerdict verdict, const std::vector<int>& peers) {
  return verdict == WaitVerdict::kFailLost ? failures_.FailLost() : failures_.Fail(DeadlineError(peers));
}

std::vector<int> CurrentCall::WorldRanks(std::vector<int> peers) const {
  for (int& rank : peers) rank = connections_.WorldRank(rank);
  std::ranges::sort(peers);
  return peers;
}

Error CurrentCall::DeadlineError(const std::vector<int>& peers) const {
  // The rank that all wait for is rarely a peer that this one exchanges bytes with.
  const std::string missing = AskForMissingRanks(group_, call_, connections_.own_rank());
  if (!missing.empty()) return clock_.DeadlineError(call_, missing);
  return clock_.DeadlineError(call_, DescribeRanks(group_.roster(), WorldRanks(peers)));
}

}  // namespace muster::socket
