#include "comm/socket/engine/wait_set.h"

#include <fmt/core.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "comm/base/parse.h"
#include "comm/system/pipe.h"

namespace muster::socket {
namespace {

// Of a stream whose message follows one that has not come.
constexpr short kClosedOnly = POLLRDHUP;

}  // namespace

Status WaitSet::AddWaker() {
  if (!waker_) waker_ = AboveStandard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waker_) return Fail(Error{Code::kSystem, fmt::format("cannot make an eventfd: {}", ErrnoText(errno))});
  mesh_.AddWaker(waker_.get());
  waker_added_ = true;
  return {};
}

void WaitSet::RemoveWaker() {
  if (waker_added_) mesh_.RemoveWaker(waker_.get());
  waker_added_ = false;
}

void WaitSet::Prepare() {
  polled_.assign(kCount, pollfd{-1, POLLIN, 0});
  streams_.clear();
  peers_.clear();
  polled_[kFailure].fd = mesh_.group().failure_fd();
  polled_[kMesh].fd = mesh_.poll_fd();
  if (waker_added_) polled_[kWaker].fd = waker_.get();
}

void WaitSet::Add(PeerStream& stream) {
  // A rank that only sends must also detect that its peer has gone: POLLERR and POLLHUP need no request.
  int events = (stream.MaySend() ? POLLOUT : 0) | (stream.WantsToReceive() ? POLLIN : 0);
  if (events == 0) events = kClosedOnly;
  polled_.push_back({stream.connection()->fd(), static_cast<short>(events), 0});
  streams_.push_back(&stream);
}

void WaitSet::AddEndOf(int peer, int descriptor) {
  polled_.push_back({descriptor, POLLRDHUP, 0});
  peers_.push_back(peer);
}

int WaitSet::Poll(Deadline wake) {
  ready_streams_.clear();
  closed_streams_.clear();
  ended_peers_.clear();
  const int ready = poll(polled_.data(), polled_.size(), wake.PollMilliseconds());
  if (ready <= 0) return ready;
  const pollfd* at = polled_.data() + kCount;
  for (PeerStream* stream : streams_) {
    if (at->revents != 0) (at->events == kClosedOnly ? closed_streams_ : ready_streams_).push_back(stream);
    ++at;
  }
  for (const int peer : peers_) {
    if ((at++)->revents != 0) ended_peers_.push_back(peer);
  }
  return ready;
}

bool WaitSet::DrainWaker() {
  if (polled_[kWaker].revents == 0) return false;
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t drained = read(waker_.get(), &count, sizeof count);
  return true;
}

}  // namespace muster::socket
