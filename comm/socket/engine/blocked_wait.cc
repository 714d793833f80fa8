#include "comm/socket/engine/blocked_wait.h"

#include <fmt/core.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "comm/base/parse.h"
#include "comm/ops/entry.h"
#include "comm/system/descriptor_room.h"
#include "comm/system/pipe.h"

namespace muster::socket {
namespace {

// Of a stream whose message follows one that has not come, and of a peer that this rank waits for in shared memory.
constexpr short kClosedOnly = POLLRDHUP;

}  // namespace

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
  const int ready = Poll(wake.EarlierOf(Deadline::At(slept_from + longest)));
  if (ready < 0 && errno != EINTR) {
    return call_.failures().FailHere(
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
  if (Poll(Deadline::After(Duration::zero())) > 0) MUSTER_CHECK(Serve());
  return CheckTime();
}

// A peer that has gone may have taken the connection and sent its data since this rank last looked.
Status BlockedWait::NoticeGone() {
  if (call_.stall_monitor().Gone().empty()) return {};
  connections_.mesh().Serve(waker());
  MUSTER_CHECK(round_.AdvanceUnconnected(call_));
  call_.NoticeGone(UnfinishedPeers());
  return {};
}

// From now on, connections and answers that another thread completes wake this one. Everything is tried once more, so that
// nothing is missed in between.
Status BlockedWait::UseWaker() {
  if (has_waker_ || !(round_.LacksConnection() || call_.stall_monitor().Asking())) return {};
  if (!waker_) waker_ = AboveStandard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waker_) {
    const int error = errno;
    return call_.failures().FailHere({Code::kSystem,
                                      fmt::format("cannot make an eventfd: {}", ErrnoText(error)),
                                      error == EMFILE ? DescriptorLimitHint() : ""});
  }
  connections_.mesh().AddWaker(waker_.get());
  has_waker_ = true;
  bool moved = false;
  return round_.AdvanceAll(call_, moved);
}

void BlockedWait::End() {
  if (has_waker_) connections_.mesh().RemoveWaker(waker_.get());
  has_waker_ = false;
}

void BlockedWait::Prepare() {
  polled_.assign(kCount, pollfd{-1, POLLIN, 0});
  streams_.clear();
  ending_.clear();
  polled_[kFailure].fd = connections_.mesh().group().failure_fd();
  polled_[kMesh].fd = connections_.mesh().poll_fd();
  polled_[kWaker].fd = waker();
  const PeerFailures& failures = call_.failures();
  for (PeerStream& stream : round_.streams()) {
    if (stream.done() || failures.IsLost(stream.rank()) || stream.connection() == nullptr) continue;
    // A rank that only sends must also detect that its peer has gone: POLLERR and POLLHUP need no request.
    int events = (stream.MaySend() ? POLLOUT : 0) | (stream.WantsToReceive() ? POLLIN : 0);
    if (events == 0) events = kClosedOnly;
    polled_.push_back({stream.connection()->fd(), static_cast<short>(events), 0});
    streams_.push_back(&stream);
  }
  if (awaited_ == nullptr) return;
  polled_[kDoorbell].fd = awaited_->doorbell_fd();
  for (const int peer : awaited_->WaitingFor()) {
    const Connection* connection = failures.IsLost(peer) ? nullptr : connections_.Existing(peer);
    if (connection == nullptr) continue;
    polled_.push_back({connection->fd(), kClosedOnly, 0});
    ending_.push_back(peer);
  }
}

Status BlockedWait::Serve() {
  Mesh& mesh = connections_.mesh();
  if (polled_[kFailure].revents != 0) {
    if (std::optional<Error> failure = mesh.group().failure()) return Fail(*std::move(failure));
  }
  const bool mesh_ready = polled_[kMesh].revents != 0;
  const bool woken = polled_[kWaker].revents != 0;
  if (mesh_ready) mesh.Serve(waker());
  eventfd_t count = 0;
  if (woken) static_cast<void>(eventfd_read(waker_.get(), &count));
  if (polled_[kDoorbell].revents != 0) awaited_->Drain();
  MUSTER_CHECK(ServePeers());
  return mesh_ready || woken ? round_.AdvanceUnconnected(call_) : Status();
}

Status BlockedWait::ServePeers() {
  ready_.clear();
  const pollfd* at = polled_.data() + kCount + streams_.size();
  for (const int peer : ending_) {
    if ((at++)->revents != 0) MUSTER_CHECK(NoticeEnd(peer));
  }
  at = polled_.data() + kCount;
  for (PeerStream* stream : streams_) {
    const pollfd& polled = *at++;
    if (polled.revents == 0) continue;
    // Such a peer never takes the message that this rank is to pass on. Without this, poll(2) returns again immediately.
    if (polled.events == kClosedOnly) {
      MUSTER_CHECK(call_.failures().OnClosed(stream->rank(), *stream->connection()));
    } else {
      ready_.push_back(stream);
    }
  }
  return round_.AdvanceReady(call_, ready_);
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
