#include "comm/socket/engine/blocked_wait.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "comm/base/parse.h"
#include "comm/ops/entry.h"

namespace muster::socket {

Status BlockedWait::Sleep(Awaited* awaited) {
  awaited_ = awaited;
  call_.StartClock();
  call_.Served();
  StallMonitor& monitor = call_.stall_monitor();
  if (monitor.Blocked()) {
    monitor.Attend(call_.WorldRanks(UnfinishedPeers()), !round_.LacksConnection());
    MUSTER_CHECK(NoticeGone());
  }
  MUSTER_CHECK(UseWaker());
  Prepare();
  const auto slept_from = Clock::now();
  // Everything may have been done while the waker was put up.
  const Deadline wake =
      Settled() ? Deadline::At(slept_from) : call_.wake().EarlierOf(connections_.mesh().wake());
  const Duration longest = awaited_ != nullptr ? awaited_->longest_sleep() : kLongestSleep;
  const int ready = wait_set_.Poll(wake.EarlierOf(Deadline::At(slept_from + longest)));
  if (ready < 0 && errno != EINTR) {
    return call_.failures().Fail(
        {Code::kSystem, fmt::format("poll failed in {}: {}", Describe(call_.call()), ErrnoText(errno))});
  }
  if (const Duration stall = SuspendedFor(slept_from, Clock::now()); stall > Duration::zero()) {
    call_.Postpone(stall);
  }
  if (ready > 0) MUSTER_CHECK(Serve());
  return CheckTime();
}

Status BlockedWait::Glance(Awaited* awaited) {
  awaited_ = awaited;
  call_.Served();
  Prepare();
  if (wait_set_.Poll(Deadline::After(Duration::zero())) > 0) MUSTER_CHECK(Serve());
  return CheckTime();
}

// A peer that has gone may have taken the connection and sent its data since this rank last looked.
Status BlockedWait::NoticeGone() {
  if (call_.stall_monitor().Gone().empty()) return {};
  connections_.mesh().Serve(wait_set_.waker());
  MUSTER_CHECK(mover_.AdvanceUnconnected());
  call_.NoticeGone(UnfinishedPeers());
  return {};
}

// Everything is tried once more after the waker has been added, so that nothing is missed in between.
Status BlockedWait::UseWaker() {
  if (wait_set_.has_waker() || !(round_.LacksConnection() || call_.stall_monitor().Asking())) return {};
  if (Status added = wait_set_.AddWaker(); !added) return call_.failures().Fail(added.error());
  bool moved = false;
  return mover_.AdvanceAll(moved);
}

void BlockedWait::Prepare() {
  wait_set_.Prepare();
  const PeerFailures& failures = call_.failures();
  for (PeerStream& stream : round_.streams()) {
    if (stream.done() || failures.IsLost(stream.rank()) || stream.connection() == nullptr) continue;
    wait_set_.Add(stream);
  }
  if (awaited_ == nullptr) return;
  wait_set_.AddDoorbell(awaited_->doorbell_fd());
  for (const int peer : awaited_->WaitingFor()) {
    const Connection* connection = failures.IsLost(peer) ? nullptr : connections_.Existing(peer);
    if (connection != nullptr) wait_set_.AddEndOf(peer, connection->fd());
  }
}

Status BlockedWait::Serve() {
  Mesh& mesh = connections_.mesh();
  if (wait_set_.group_failed()) {
    if (std::optional<Error> failure = mesh.group().failure()) return Fail(*std::move(failure));
  }
  if (wait_set_.mesh_ready()) mesh.Serve(wait_set_.waker());
  const bool woken = wait_set_.DrainWaker();
  if (wait_set_.doorbell_rang()) awaited_->Drain();
  for (const int peer : wait_set_.ended_peers()) MUSTER_CHECK(NoticeEnd(peer));
  // Such a peer never takes the message that this rank is to pass on. Without this, poll(2) returns again immediately.
  for (const PeerStream* stream : wait_set_.closed_streams()) {
    MUSTER_CHECK(call_.failures().OnClosed(stream->rank(), *stream->connection()));
  }
  MUSTER_CHECK(mover_.AdvanceReady(wait_set_.ready_streams()));
  return wait_set_.mesh_ready() || woken ? mover_.AdvanceUnconnected() : Status();
}

// A peer may end as soon as it has done its part.
Status BlockedWait::NoticeEnd(int peer) {
  const std::vector<int> waiting = awaited_->WaitingFor();
  if (std::ranges::find(waiting, peer) == waiting.end()) return {};
  return call_.failures().OnClosed(peer, *connections_.Existing(peer));
}

Status BlockedWait::CheckTime() {
  Mesh& mesh = connections_.mesh();
  if (mesh.wake().Expired()) mesh.Serve();
  if (Settled()) return {};
  if (call_.closed()) return Closed(Describe(call_.call()));
  const WaitVerdict verdict = call_.verdict();
  return verdict == WaitVerdict::kGoOn ? Status() : call_.Fail(verdict, UnfinishedPeers());
}

bool BlockedWait::Settled() const { return round_.done() && (awaited_ == nullptr || awaited_->Happened()); }

std::vector<int> BlockedWait::UnfinishedPeers() const {
  std::vector<int> peers = round_.UnfinishedPeers();
  if (awaited_ != nullptr) {
    const std::vector<int> others = awaited_->WaitingFor();
    peers.insert(peers.end(), others.begin(), others.end());
  }
  return peers;
}

}  // namespace muster::socket
