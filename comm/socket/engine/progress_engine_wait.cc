// The waiting half of ProgressEngine: what a blocked rank watches, and what it does about the time.
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "comm/base/parse.h"
#include "comm/socket/engine/progress_engine.h"

namespace muster::socket {
namespace {

constexpr size_t kFailurePoll = 0;
constexpr size_t kMeshPoll = 1;
constexpr size_t kWakerPoll = 2;
constexpr size_t kDoorbellPoll = 3;
constexpr size_t kFixedPolls = 4;
constexpr size_t kNamedCulprits = 8;
// Whoever sleeps in short pieces notices that it has stood still.
constexpr Duration kLongestSleep = std::chrono::seconds(1);
// Later than this after it should have woken up, a process was suspended; a busy machine is faster.
constexpr Duration kStall = std::chrono::seconds(2);

}  // namespace

Status ProgressEngine::Wait() {
  StartClock();
  if (stall_monitor_.Blocked()) stall_monitor_.Attend(WaitingFor());
  MUSTER_CHECK(UseWaker());
  PreparePoll();
  const auto slept_from = Clock::now();
  const Deadline wake = WakeAt().EarlierOf(Deadline::At(slept_from + kLongestSleep));
  const int ready = poll(polled_.data(), polled_.size(), wake.PollMilliseconds());
  NoticeStall(slept_from, kLongestSleep);
  if (ready < 0 && errno != EINTR) {
    return Fail({Code::kSystem, fmt::format("poll failed in {}: {}", Describe(call_), ErrnoText(errno)), ""});
  }
  if (ready > 0) MUSTER_CHECK(AfterPoll());
  return CheckTime();
}

// The time in which this process stood still counts for nobody: suspended jobs suspend all their ranks.
void ProgressEngine::NoticeStall(Clock::time_point slept_from, Duration longest) {
  const Duration stall = Clock::now() - slept_from - longest;
  if (stall < kStall) return;
  if (!deadline_.IsNever()) deadline_ = Deadline::At(deadline_.when() + stall);
  if (loss_ && !loss_->report_at.IsNever()) loss_->report_at = Deadline::At(loss_->report_at.when() + stall);
  stall_monitor_.Postpone(stall);
}

Status ProgressEngine::AwaitAsleep() {
  while (!awaited_->Happened()) {
    awaited_->FallAsleep();
    Status status = Wait();
    awaited_->WakeUp();
    MUSTER_CHECK(std::move(status));
    if (options_.spin) SpinFor(*awaited_);
  }
  return {};
}

bool ProgressEngine::Settled() const {
  return Unfinished() == 0 && (awaited_ == nullptr || awaited_->Happened());
}

// Connections and answers that another thread completes are announced by the waker. Looked at once more after
// it has been added, so that nothing is missed in between.
Status ProgressEngine::UseWaker() {
  bool unconnected = false;
  for (size_t i = 0; i < active_; ++i) {
    unconnected = unconnected || (!streams_[i].done() && streams_[i].connection() == nullptr);
  }
  if (waker_added_ || !(unconnected || stall_monitor_.Asking())) return {};
  if (!waker_) waker_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waker_) return Fail({Code::kSystem, fmt::format("cannot make an eventfd: {}", ErrnoText(errno)), ""});
  mesh_.AddWaker(waker_.get());
  waker_added_ = true;
  bool moved = false;
  return AdvanceAll(moved);
}

void ProgressEngine::PreparePoll() {
  polled_.assign(kFixedPolls, pollfd{-1, POLLIN, 0});
  polled_streams_.clear();
  polled_[kFailurePoll].fd = group_.failure_fd();
  polled_[kMeshPoll].fd = mesh_.poll_fd();
  if (waker_added_) polled_[kWakerPoll].fd = waker_.get();
  for (size_t i = 0; i < active_; ++i) {
    PeerStream& stream = streams_[i];
    const bool lost = loss_ && loss_->rank == stream.rank();
    if (stream.done() || lost || stream.connection() == nullptr) continue;
    // A rank that only sends still has to learn that its peer has gone: POLLERR and POLLHUP need no asking.
    const int events = (stream.MaySend() ? POLLOUT : 0) | (stream.WantsToReceive() ? POLLIN : 0);
    polled_.push_back({stream.connection()->fd(), static_cast<short>(events), 0});
    polled_streams_.push_back(&stream);
  }
  if (awaited_ != nullptr) WatchAwaited();
}

// A peer that goes on may already have sent what belongs to a later call: only the end of its connection
// counts.
void ProgressEngine::WatchAwaited() {
  polled_[kDoorbellPoll].fd = awaited_->doorbell_fd();
  watched_.clear();
  for (const int peer : awaited_->WaitingFor()) {
    const bool lost = loss_ && loss_->rank == peer;
    const Connection* connection = lost ? nullptr : connections_.Existing(peer);
    if (connection == nullptr) continue;
    polled_.push_back({connection->fd(), POLLRDHUP, 0});
    watched_.push_back(peer);
  }
}

Status ProgressEngine::NoticeEnds() {
  if (polled_[kDoorbellPoll].revents != 0) awaited_->Drain();
  for (size_t i = 0; i < watched_.size(); ++i) {
    if (polled_[kFixedPolls + i].revents != 0) MUSTER_CHECK(NoticeEnd(watched_[i]));
  }
  return {};
}

// A peer may end as soon as it has done its part.
Status ProgressEngine::NoticeEnd(int peer) {
  const std::vector<int> waiting = awaited_->WaitingFor();
  if (std::ranges::find(waiting, peer) == waiting.end()) return {};
  if (LeftProperly(*connections_.Existing(peer))) {
    return Fail(
        {Code::kPeerLost, fmt::format("{} left the group before {}", Subject(peer), Describe(call_)), ""});
  }
  Lose(peer, fmt::format("{} closed its connection during {}", Subject(peer), Describe(call_)));
  return {};
}

Deadline ProgressEngine::WakeAt() const {
  Deadline wake = deadline_.EarlierOf(mesh_.wake()).EarlierOf(stall_monitor_.wake());
  // Everything may have been done while the waker was put up.
  if (Settled()) wake = Deadline::At(Clock::now());
  return loss_ ? wake.EarlierOf(loss_->report_at) : wake;
}

Status ProgressEngine::AfterPoll() {
  if (polled_[kFailurePoll].revents != 0) {
    if (std::optional<Error> failure = group_.failure()) return muster::Fail(*std::move(failure));
  }
  bool look_again = false;
  if (polled_[kMeshPoll].revents != 0) {
    mesh_.Serve();
    look_again = true;
  }
  if (polled_[kWakerPoll].revents != 0) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t drained = read(waker_.get(), &count, sizeof count);
    look_again = true;
  }
  if (awaited_ != nullptr) MUSTER_CHECK(NoticeEnds());
  bool moved = false;
  for (size_t i = 0; i < polled_streams_.size(); ++i) {
    if (polled_[kFixedPolls + i].revents != 0) MUSTER_CHECK(Advance(*polled_streams_[i], moved));
  }
  if (moved) MUSTER_CHECK(AdvanceHeld(moved));
  if (!look_again) return {};
  for (size_t i = 0; i < active_; ++i) {
    if (streams_[i].connection() == nullptr) MUSTER_CHECK(Advance(streams_[i], moved));
  }
  return {};
}

Status ProgressEngine::CheckTime() {
  if (mesh_.wake().Expired()) mesh_.Serve();
  if (Settled()) return {};
  if (const std::optional<int> gone = stall_monitor_.Gone(); gone && !loss_) {
    for (const int peer : UnfinishedPeers()) {
      if (connections_.WorldRank(peer) != *gone) continue;
      Lose(peer, fmt::format("{} left the group before {}", Subject(peer), Describe(call_)));
    }
  }
  if (loss_ && loss_->report_at.Expired()) return Fail(loss_->error);
  if (deadline_.Expired()) return Fail(DeadlineError());
  return {};
}

std::vector<int> ProgressEngine::UnfinishedPeers() const {
  std::vector<int> peers;
  for (size_t i = 0; i < active_; ++i) {
    if (!streams_[i].done()) peers.push_back(streams_[i].rank());
  }
  if (awaited_ != nullptr) {
    const std::vector<int> others = awaited_->WaitingFor();
    peers.insert(peers.end(), others.begin(), others.end());
  }
  return peers;
}

std::vector<int> ProgressEngine::WaitingFor() const {
  std::vector<int> ranks = UnfinishedPeers();
  for (int& rank : ranks) rank = connections_.WorldRank(rank);
  std::ranges::sort(ranks);
  return ranks;
}

Error ProgressEngine::DeadlineError() {
  const std::vector<int> culprits = stall_monitor_.Culprits(WaitingFor());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(culprits.size(), kNamedCulprits); ++i) {
    names.push_back(DescribeRank(group_.roster(), culprits[i]));
  }
  if (culprits.size() > kNamedCulprits)
    names.push_back(fmt::format("{} more", culprits.size() - kNamedCulprits));
  if (capped_) {
    return {Code::kDeadline,
            fmt::format("{} did not finish before the end of the job: waiting for {}", Describe(call_),
                        fmt::join(names, ", ")),
            "look at what that rank is doing; timeouts.cap_at_job_end: false waits on where the job's time "
            "limit was "
            "extended"};
  }
  return {Code::kDeadline,
          fmt::format("{} did not finish within {}: waiting for {}", Describe(call_),
                      FormatDuration(timeout_), fmt::join(names, ", ")),
          fmt::format("look at what that rank is doing, or raise timeouts.{}",
                      call_.operation == Operation::kBarrier ? "barrier" : "collective")};
}

}  // namespace muster::socket
