#include "comm/log/bounded_sink.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "comm/base/unique_fd.h"
#include "comm/system/pipe.h"

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

// At most PIPE_BUF bytes: a pipe that polls writable takes as much, but another process may take that room first. Then
// this write must not block. Descriptors are not kept: the process may redirect its standard error.
ssize_t BoundedSink::Put(std::string_view text) const {
  text = text.substr(0, PIPE_BUF);
  struct stat status {};
  const mode_t type = fstat(fd_, &status) == 0 ? status.st_mode & S_IFMT : 0;
  if (type == S_IFSOCK) return send(fd_, text.data(), text.size(), MSG_DONTWAIT);
  const UniqueFd own = ReopenForWriting(fd_);
  return write(own ? own.get() : fd_, text.data(), text.size());
}

void BoundedSink::PutKept(Deadline deadline) {
  while (!kept_.empty() || dropped_ > 0) {
    if (kept_.empty())
      kept_ = complain_(
          fmt::format("{} lines were dropped: standard error was not read", std::exchange(dropped_, 0)));
    if (!Ready(deadline)) return;
    const ssize_t written = Put(kept_);
    if (written < 0 && errno == EAGAIN && !deadline.Expired()) continue;
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
  static_cast<void>(Put(text));
}

void BoundedSink::Flush(Deadline deadline) { PutKept(deadline); }

}  // namespace muster
