#include "bootstrap/output/console.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/system/pipe.h"

namespace muster::output {
namespace {

constexpr size_t kChunk = 4096;  // PIPE_BUF on Linux: a pipe that polls writable takes as much

}  // namespace

mode_t TypeOf(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

std::string NameOfStream(std::string_view stream, int fd) {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path.data(), path.size());
  if (length <= 0 || path.front() != '/') return std::string(stream);
  return fmt::format("{} ({})", stream, std::string_view(path.data(), static_cast<size_t>(length)));
}

// One write to a file. It outlives the console if the file system does not answer.
struct Console::FileWrite {
  std::shared_ptr<const UniqueFd> fd;
  std::string bytes;
  size_t written = 0;
  int error_number = 0;

  // A short write is no reason to wait: the next one has the error, if there is one.
  void Run() {
    while (written < bytes.size() && error_number == 0) {
      const ssize_t count =
          TEMP_FAILURE_RETRY(write(fd->get(), bytes.data() + written, bytes.size() - written));
      if (count > 0) written += static_cast<size_t>(count);
      if (count < 0) error_number = errno;
      if (count == 0) error_number = EIO;
    }
  }
};

Console::Console(Params params, UniqueFd fd) : params_(std::move(params)) {
  if (!fd) return;
  const mode_t type = TypeOf(fd.get());
  is_file_ = type == S_IFREG;
  is_socket_ = type == S_IFSOCK;
  is_terminal_ = type == S_IFCHR && isatty(fd.get()) == 1;
  if (UniqueFd own = ReopenForWriting(fd.get())) fd = std::move(own);
  fd_ = std::make_shared<const UniqueFd>(std::move(fd));
}

Console::~Console() { Watch(false); }

size_t Console::queued() const {
  return pending_.size() - written_ + (in_flight_ ? in_flight_->bytes.size() : 0);
}

void Console::Write(std::string_view bytes) {
  if (gone()) return;
  pending_ += bytes;
  Flush();
}

void Console::Flush() {
  if (is_file_) return WriteToFile();
  const size_t before = queued();
  while (!pending_.empty() && Ready() && WriteSome()) continue;
  if (written_ > pending_.size() / 2) pending_.erase(0, std::exchange(written_, 0));
  Watch(!pending_.empty());
  KeepPatience(queued() < before);
  Settle();
}

bool Console::Ready() const {
  struct pollfd out {
    fd_->get(), POLLOUT, 0
  };
  // An error is for write to report.
  return TEMP_FAILURE_RETRY(poll(&out, 1, 0)) != 0;
}

// Whole lines if one fits. False: it takes nothing now.
bool Console::WriteSome() {
  std::string_view rest = std::string_view(pending_).substr(written_);
  if (rest.size() > kChunk) {
    const size_t line_end = rest.substr(0, kChunk).rfind('\n');
    rest = rest.substr(0, line_end == std::string_view::npos ? kChunk : line_end + 1);
  }
  const ssize_t count =
      TEMP_FAILURE_RETRY(is_socket_ ? send(fd_->get(), rest.data(), rest.size(), MSG_DONTWAIT)
                                    : write(fd_->get(), rest.data(), rest.size()));
  if (count < 0 && errno == EAGAIN) return false;
  if (count < 0) {
    OnError(errno, pending_.size() - written_);
  } else {
    written_ += static_cast<size_t>(count);
    if (written_ < pending_.size()) return true;
  }
  pending_.clear();
  written_ = 0;
  return false;
}

void Console::WriteToFile() {
  if (in_flight_ || pending_.empty()) return;
  const auto job = std::make_shared<FileWrite>();
  job->fd = fd_;
  job->bytes = std::exchange(pending_, {});
  in_flight_ = job;
  params_.files.Run([job] { job->Run(); },
                    [this, job, alive = std::weak_ptr<bool>(alive_)] {
                      if (alive.expired() || in_flight_ != job) return;
                      in_flight_.reset();
                      if (job->error_number != 0)
                        OnError(job->error_number, job->bytes.size() - job->written);
                      WriteToFile();
                      Settle();
                    });
}

void Console::OnError(int error_number, size_t lost) {
  // A terminal whose session has ended.
  const bool no_reader = error_number == EPIPE || (error_number == EIO && is_terminal_);
  if (!no_reader) return params_.losses.Failed(params_.kind, params_.name, error_number, lost);
  LogWarning("{} has no reader: the rest is dropped", params_.name);
  Close();
}

void Console::Settle() {
  if (full()) return;
  for (const auto& go_on : std::exchange(waiting_, {})) params_.loop.Post(go_on);
  if (idle() && on_idle_) params_.loop.Post(on_idle_);
}

void Console::Watch(bool on) {
  if (on == watched_) return;
  if (!on) {
    watched_ = false;
    return params_.loop.Forget(fd_->get());
  }
  const Status status = params_.loop.Watch(fd_->get(), EPOLLOUT, [this](uint32_t) { Flush(); });
  watched_ = status.has_value();
  // Programs must not wait for room that no event will report.
  if (!watched_) GiveUp(status.error().message);
}

void Console::KeepPatience(bool moved) {
  if (params_.patience == Duration::zero()) return;
  if (moved || idle()) patience_timer_.Cancel();
  if (idle() || patience_timer_.pending()) return;
  patience_timer_ = params_.loop.After(params_.patience, [this] {
    const std::string reason =
        fmt::format("its reader took nothing for {}", FormatDuration(params_.patience));
    LogWarning("{} ends here: {}", params_.name, reason);
    GiveUp(reason);
  });
}

void Console::GiveUp(const std::string& reason) {
  if (gone()) return;
  if (!idle()) params_.losses.NotRead(params_.kind, params_.name, reason, queued());
  Close();
  Settle();
}

void Console::Close() {
  Watch(false);
  patience_timer_.Cancel();
  fd_.reset();
  in_flight_.reset();
  pending_.clear();
  written_ = 0;
}

}  // namespace muster::output
