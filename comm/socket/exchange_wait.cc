// The waiting half of Exchange: what a blocked rank watches, and what it does about the time.
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "comm/base/parse.h"
#include "comm/socket/exchange.h"

namespace muster {
namespace {

constexpr size_t kFailurePoll = 0;
constexpr size_t kMeshPoll = 1;
constexpr size_t kWakerPoll = 2;
constexpr size_t kFixedPolls = 3;
constexpr size_t kNamedCulprits = 8;

}  // namespace

Status Exchange::Wait() {
  if (vigil_.Blocked()) vigil_.Attend(WaitingFor());
  MUSTER_CHECK(UseWaker());
  PreparePoll();
  const int ready = poll(polled_.data(), polled_.size(), WakeAt().PollMilliseconds());
  if (ready < 0 && errno != EINTR) {
    return Fail({Code::kSystem, fmt::format("poll failed in {}: {}", Describe(call_), ErrnoText(errno)), ""});
  }
  if (ready > 0) MUSTER_CHECK(AfterPoll());
  return CheckTime();
}

// Connections and answers that another thread completes are announced by the waker. Looked at once more after
// it has been added, so that nothing is missed in between.
Status Exchange::UseWaker() {
  bool unconnected = false;
  for (size_t i = 0; i < active_; ++i) {
    unconnected = unconnected || (!streams_[i].done() && streams_[i].connection() == nullptr);
  }
  if (waker_added_ || !(unconnected || vigil_.Asking())) return {};
  if (!waker_) waker_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waker_) return Fail({Code::kSystem, fmt::format("cannot make an eventfd: {}", ErrnoText(errno)), ""});
  mesh_.AddWaker(waker_.get());
  waker_added_ = true;
  bool moved = false;
  return AdvanceAll(moved);
}

void Exchange::PreparePoll() {
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
    const int events = (stream.WantsToSend() ? POLLOUT : 0) | (stream.WantsToReceive() ? POLLIN : 0);
    polled_.push_back({stream.connection()->fd(), static_cast<short>(events), 0});
    polled_streams_.push_back(&stream);
  }
}

Deadline Exchange::WakeAt() const {
  Deadline wake = deadline_.EarlierOf(mesh_.wake()).EarlierOf(vigil_.wake());
  // Everything may have been done while the waker was put up.
  if (Unfinished() == 0) wake = Deadline::At(Clock::now());
  return loss_ ? wake.EarlierOf(loss_->report_at) : wake;
}

Status Exchange::AfterPoll() {
  if (polled_[kFailurePoll].revents != 0) {
    if (std::optional<Error> failure = group_.failure()) return muster::Fail(*std::move(failure));
  }
  bool look_again = false;
  if (polled_[kMeshPoll].revents != 0) {
    MUSTER_CHECK(ServeMesh());
    look_again = true;
  }
  if (polled_[kWakerPoll].revents != 0) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t drained = read(waker_.get(), &count, sizeof count);
    look_again = true;
  }
  bool moved = false;
  for (size_t i = 0; i < polled_streams_.size(); ++i) {
    if (polled_[kFixedPolls + i].revents != 0) MUSTER_CHECK(Advance(*polled_streams_[i], moved));
  }
  if (!look_again) return {};
  for (size_t i = 0; i < active_; ++i) {
    if (streams_[i].connection() == nullptr) MUSTER_CHECK(Advance(streams_[i], moved));
  }
  return {};
}

Status Exchange::ServeMesh() {
  Status served = mesh_.Serve();
  if (!served) return Fail(served.error());
  return {};
}

Status Exchange::CheckTime() {
  if (mesh_.wake().Expired()) MUSTER_CHECK(ServeMesh());
  if (Unfinished() == 0) return {};
  if (const std::optional<int> gone = vigil_.Gone(); gone && !loss_) {
    for (size_t i = 0; i < active_; ++i) {
      const PeerStream& stream = streams_[i];
      if (stream.done() || lane_.WorldRank(stream.rank()) != *gone) continue;
      Lose(stream, fmt::format("{} left the group before {}", Subject(stream.rank()), Describe(call_)));
    }
  }
  if (loss_ && loss_->report_at.Expired()) return Fail(loss_->error);
  if (deadline_.Expired()) return Fail(DeadlineError());
  return {};
}

std::vector<int> Exchange::WaitingFor() const {
  std::vector<int> ranks;
  for (size_t i = 0; i < active_; ++i) {
    if (!streams_[i].done()) ranks.push_back(lane_.WorldRank(streams_[i].rank()));
  }
  std::ranges::sort(ranks);
  return ranks;
}

Error Exchange::DeadlineError() {
  const std::vector<int> culprits = vigil_.Culprits(WaitingFor());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(culprits.size(), kNamedCulprits); ++i) {
    names.push_back(DescribeRank(group_.roster(), culprits[i]));
  }
  if (culprits.size() > kNamedCulprits)
    names.push_back(fmt::format("{} more", culprits.size() - kNamedCulprits));
  return {Code::kDeadline,
          fmt::format("{} did not finish within {}: waiting for {}", Describe(call_),
                      FormatDuration(timeout_), fmt::join(names, ", ")),
          fmt::format("look at what that rank is doing, or raise timeouts.{}",
                      call_.operation == Operation::kBarrier ? "barrier" : "collective")};
}

}  // namespace muster
