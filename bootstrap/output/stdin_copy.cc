#include "bootstrap/output/stdin_copy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "bootstrap/output/console.h"
#include "bootstrap/output/poll_interval.h"
#include "comm/system/pipe.h"

namespace muster::output {
namespace {

constexpr size_t kMostPending = size_t{256} * 1024;
constexpr size_t kChunk = size_t{64} * 1024;

UniqueFd OwnDescriptor(int source) {
  if (TypeOf(source) == S_IFIFO) {
    UniqueFd reopened = ReopenPipe(source, O_RDONLY);
    if (reopened) return reopened;
  }
  return UniqueFd(fcntl(source, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace

StdinCopy::StdinCopy(net::EventLoop& loop, int source)
    : loop_(loop), source_(OwnDescriptor(source)), is_socket_(TypeOf(source) == S_IFSOCK) {}

StdinCopy::~StdinCopy() {
  if (watched_) loop_.Forget(source_.get());
  for (auto& [rank, reader] : readers_) Close(reader);
}

Result<UniqueFd> StdinCopy::AddReader(int rank) {
  MUSTER_TRY(Pipe pipe, MakePipe());
  fcntl(pipe.write_end.get(), F_SETFL, O_NONBLOCK);  // of this end alone
  readers_[rank] = Reader{std::move(pipe.write_end)};
  return std::move(pipe.read_end);
}

void StdinCopy::Drop(int rank) {
  const auto found = readers_.find(rank);
  if (found == readers_.end()) return;
  Close(found->second);
  readers_.erase(found);
  Pump();
}

void StdinCopy::Close(Reader& reader) {
  if (reader.pipe && reader.events != 0) loop_.Forget(reader.pipe.get());
  reader.pipe.Reset();
}

// False: it has taken all it will ever take.
bool StdinCopy::WriteTo(Reader& reader) {
  while (reader.at < end()) {
    const std::string_view rest = std::string_view(buffer_).substr(reader.at - begin_);
    const ssize_t count = write(reader.pipe.get(), rest.data(), rest.size());
    if (count >= 0) {
      reader.at += static_cast<uint64_t>(count);
    } else if (errno == EAGAIN) {
      return true;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return static_cast<bool>(source_);
}

// The offset up to which every reader has read.
void StdinCopy::Trim() {
  uint64_t least = end();
  for (const auto& [rank, reader] : readers_) least = std::min(least, reader.at);
  buffer_.erase(0, least - begin_);
  begin_ = least;
}

bool StdinCopy::ReadSome() {
  std::array<char, kChunk> bytes;
  const ssize_t got =
      TEMP_FAILURE_RETRY(is_socket_ ? recv(source_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)
                                    : read(source_.get(), bytes.data(), bytes.size()));
  if (got > 0) buffer_.append(bytes.data(), static_cast<size_t>(got));
  if (got > 0 || (got < 0 && errno == EAGAIN)) return true;
  if (std::exchange(watched_, false)) loop_.Forget(source_.get());
  source_.Reset();
  return false;
}

bool StdinCopy::SourceIsReady() const {
  pollfd in{source_.get(), POLLIN, 0};
  return TEMP_FAILURE_RETRY(poll(&in, 1, 0)) != 0;
}

void StdinCopy::PumpLater() {
  if (pump_timer_.pending()) return;
  pump_timer_ = loop_.After(kPollInterval, [this] {
    pollable_ = true;
    Pump();
  });
}

void StdinCopy::Pump() {
  for (auto at = readers_.begin(); at != readers_.end();) {
    if (WriteTo(at->second)) {
      WatchReader(at->first, at->second);
      ++at;
    } else {
      Close(at->second);
      at = readers_.erase(at);
    }
  }
  Trim();
  WatchSource();
}

void StdinCopy::WatchSource() {
  const bool wanted = source_ && !readers_.empty() && buffer_.size() < kMostPending;
  if (!wanted || !pollable_) {
    if (std::exchange(watched_, false)) loop_.Forget(source_.get());
  }
  if (!wanted) return;
  const auto go_on = [this] {
    ReadSome();
    Pump();
  };
  if (pollable_ && !watched_) {
    const Status status = loop_.Watch(source_.get(), EPOLLIN, [go_on](uint32_t) { go_on(); });
    pollable_ = watched_ = status.has_value();
    // A file is always ready, and is read without events.
    if (!pollable_ && !SourceIsReady()) {
      if (!std::exchange(refused_, true)) WarnOfPolling("standard input", status.error());
      return PumpLater();
    }
  }
  if (pollable_ || pump_timer_.pending() || std::exchange(pump_posted_, true)) return;
  loop_.Post([this, go_on, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    pump_posted_ = false;
    if (!source_ || buffer_.size() >= kMostPending) return;
    SourceIsReady() ? go_on() : PumpLater();
  });
}

// With nothing to write too: the kernel then reports (EPOLLERR) that the program has closed its end.
void StdinCopy::WatchReader(int rank, Reader& reader) {
  const uint32_t events = EPOLLERR | (reader.at < end() ? EPOLLOUT : 0U);
  if (events == reader.events) return;
  if (reader.events != 0) {
    loop_.Change(reader.pipe.get(), events);
    reader.events = events;
    return;
  }
  const Status status = loop_.Watch(reader.pipe.get(), events, [this, rank](uint32_t came) {
    (came & EPOLLERR) != 0 ? Drop(rank) : Pump();
  });
  if (status) {
    reader.events = events;
    return;
  }
  if (!std::exchange(reader.refused, true))
    WarnOfPolling(fmt::format("standard input of rank {}", rank), status.error());
  if (reader.at < end()) PumpLater();
}

}  // namespace muster::output
