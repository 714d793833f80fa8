#include "bootstrap/output/stderr_tail.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace muster::output {
namespace {

constexpr size_t kChunk = 4096;  // PIPE_BUF on Linux

}  // namespace

StderrTail::StderrTail(UniqueFd pipe, int out) : pipe_(std::move(pipe)), ended_(!pipe_), out_(out) {}

StderrTail::Interest StderrTail::interest() const {
  if (in_rest_) return RestIsMoved() ? Interest{} : Interest{out_, POLLOUT};
  if (waits_for_out_) return {out_, POLLOUT};
  if (!ended_) return {pipe_.get(), POLLIN};
  return {};
}

void StderrTail::Pump() {
  if (!OutReady()) {
    waits_for_out_ = true;
    return;
  }
  if (pending_.empty()) Read(kChunk);
  WritePending();
  // A rest would be lost once the pipe has ended: poll `out` then.
  waits_for_out_ = !pending_.empty();
}

void StderrTail::BeginRest() {
  int available = 0;
  if (!ended_ && ioctl(pipe_.get(), FIONREAD, &available) != 0) available = 0;
  rest_ = static_cast<size_t>(std::max(available, 0));
  in_rest_ = true;
}

bool StderrTail::PumpRest() {
  while (!RestIsMoved() && OutReady()) {
    if (pending_.empty()) {
      const size_t chunk = std::min(rest_, kChunk);
      Read(chunk);
      // A process that the program left behind may have read it as well.
      rest_ -= pending_.empty() ? rest_ : std::min(rest_, pending_.size());
    }
    WritePending();
  }
  return RestIsMoved();
}

void StderrTail::Abandon() {
  out_is_gone_ = true;
  PumpRest();
}

void StderrTail::Read(size_t at_most) {
  std::array<char, kChunk> buffer;
  const ssize_t got = TEMP_FAILURE_RETRY(read(pipe_.get(), buffer.data(), std::min(at_most, buffer.size())));
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    ended_ = true;
    return;
  }
  pending_.assign(buffer.data(), static_cast<size_t>(got));
  tail_.Append(pending_);
}

void StderrTail::WritePending() {
  if (out_is_gone_) pending_.clear();
  if (pending_.empty()) return;
  const ssize_t written = write(out_, pending_.data(), pending_.size());
  if (written >= 0) {
    pending_.erase(0, static_cast<size_t>(written));
  } else if (errno != EINTR && errno != EAGAIN) {
    out_is_gone_ = true;
    pending_.clear();
  }
}

bool StderrTail::OutReady() const {
  if (out_is_gone_) return true;
  struct pollfd out {
    out_, POLLOUT, 0
  };
  // An error is for write to report.
  return TEMP_FAILURE_RETRY(poll(&out, 1, 0)) != 0;
}

}  // namespace muster::output
