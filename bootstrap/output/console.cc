#include "bootstrap/output/console.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "comm/log/log.h"

namespace muster::output {
namespace {

constexpr size_t kChunk = 4096;  // PIPE_BUF on Linux: a pipe that polls writable takes as much

bool IsFile(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Console::Console(net::EventLoop& loop, int fd)
    : loop_(loop), fd_(fcntl(fd, F_DUPFD_CLOEXEC, 3)), is_file_(IsFile(fd)), gone_(!fd_) {}

Console::~Console() { Watch(false); }

void Console::Write(std::string_view bytes) {
  if (gone_) return;
  pending_ += bytes;
  Flush();
}

bool Console::Ready(Deadline deadline) const {
  if (is_file_) return true;
  struct pollfd out {
    fd_.get(), POLLOUT, 0
  };
  // An error is for write to report.
  return TEMP_FAILURE_RETRY(poll(&out, 1, deadline.PollMilliseconds())) != 0;
}

// Whole lines if one fits.
void Console::WriteSome() {
  std::string_view rest = std::string_view(pending_).substr(written_);
  if (!is_file_ && rest.size() > kChunk) {
    const size_t line_end = rest.substr(0, kChunk).rfind('\n');
    rest = rest.substr(0, line_end == std::string_view::npos ? kChunk : line_end + 1);
  }
  const ssize_t count = write(fd_.get(), rest.data(), rest.size());
  if (count >= 0) {
    written_ += static_cast<size_t>(count);
  } else if (errno != EINTR && errno != EAGAIN) {
    gone_ = true;
  }
  if (gone_ || written_ == pending_.size()) {
    pending_.clear();
    written_ = 0;
  }
}

void Console::Flush() {
  while (!pending_.empty() && Ready(Deadline::After(Duration::zero()))) WriteSome();
  if (written_ > pending_.size() / 2) pending_.erase(0, std::exchange(written_, 0));
  Watch(!pending_.empty());
  if (full()) return;
  for (const auto& go_on : std::exchange(waiting_, {})) loop_.Post(go_on);
  if (!pending_.empty()) return;
  for (const auto& go_on : std::exchange(waiting_for_idle_, {})) loop_.Post(go_on);
  if (on_idle_) loop_.Post(on_idle_);
}

void Console::Watch(bool on) {
  if (on == watched_) return;
  watched_ = on;
  if (!on) return loop_.Forget(fd_.get());
  const Status status = loop_.Watch(fd_.get(), EPOLLOUT, [this](uint32_t) { Flush(); });
  if (!status) LogWarning("{}", status.error().message);
}

void Console::Drain(Deadline deadline) {
  while (!pending_.empty() && Ready(deadline)) WriteSome();
  Flush();
}

}  // namespace muster::output
