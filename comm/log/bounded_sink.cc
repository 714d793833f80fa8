#include "comm/log/bounded_sink.h"

#include <fmt/core.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace muster {
namespace {

constexpr int kPatienceMilliseconds = 100;

}  // namespace

// A regular file is always ready.
bool BoundedSink::Ready(int milliseconds) const {
  pollfd interest{fd_, POLLOUT, 0};
  return poll(&interest, 1, milliseconds) == 1 && (interest.revents & POLLOUT) != 0;
}

// A pipe that polls writable takes PIPE_BUF bytes without blocking.
bool BoundedSink::Put(std::string_view text) {
  while (!text.empty()) {
    // A reader that was too slow last time is not waited for again.
    if (!Ready(dropped_ == 0 ? kPatienceMilliseconds : 0)) return false;
    const ssize_t written = write(fd_, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

void BoundedSink::Write(std::string_view line) {
  if (dropped_ > 0 && Ready(0)) {
    if (Put(complain_(fmt::format("{} lines were dropped: standard error was not read", dropped_))))
      dropped_ = 0;
  }
  if (!Put(line)) ++dropped_;
}

void BoundedSink::WriteRaw(std::string_view text) {
  if (Ready(0)) Put(text);
}

}  // namespace muster
