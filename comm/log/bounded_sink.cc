#include "comm/log/bounded_sink.h"

#include <fmt/core.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr Duration kPatience = std::chrono::milliseconds(100);

Deadline Now() { return Deadline::After(Duration::zero()); }

}  // namespace

// A regular file is always ready.
bool BoundedSink::Ready(Deadline deadline) const {
  pollfd interest{fd_, POLLOUT, 0};
  return poll(&interest, 1, deadline.PollMilliseconds()) == 1 && (interest.revents & POLLOUT) != 0;
}

// A pipe that polls writable takes PIPE_BUF bytes without blocking.
void BoundedSink::PutKept(Deadline deadline) {
  while (!kept_.empty() || dropped_ > 0) {
    if (kept_.empty())
      kept_ = complain_(
          fmt::format("{} lines were dropped: standard error was not read", std::exchange(dropped_, 0)));
    if (!Ready(deadline)) return;
    const ssize_t written = write(fd_, kept_.data(), std::min<size_t>(kept_.size(), PIPE_BUF));
    if (written <= 0) return;
    kept_.erase(0, static_cast<size_t>(written));
  }
}

void BoundedSink::Write(std::string_view line) {
  PutKept(Now());
  // A reader that was too slow last time is not waited for again.
  const Deadline patience = kept_.empty() ? Deadline::After(kPatience) : Now();
  if (!kept_.empty() && (dropped_ > 0 || kept_.size() + line.size() > kMostKept)) {
    ++dropped_;
    return;
  }
  kept_ += line;
  PutKept(patience);
}

void BoundedSink::WriteRaw(std::string_view text) {
  if (!kept_.empty() || !Ready(Now())) return;
  [[maybe_unused]] const ssize_t written = write(fd_, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
}

void BoundedSink::Flush(Deadline deadline) { PutKept(deadline); }

}  // namespace muster
