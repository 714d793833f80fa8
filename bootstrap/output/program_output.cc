#include "bootstrap/output/program_output.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "bootstrap/output/poll_interval.h"

namespace muster::output {
namespace {

constexpr size_t kChunk = size_t{64} * 1024;
// A question, or a progress bar: a user may wait for a line that does not end.
constexpr Duration kUnfinishedFor = std::chrono::seconds(1);

}  // namespace

ProgramOutput::ProgramOutput(Params params, UniqueFd pipe)
    : params_(std::move(params)), pipe_(std::move(pipe)) {
  if (params_.label) labeller_.emplace(*params_.label);
  Watch();
}

ProgramOutput::~ProgramOutput() { Unwatch(); }

void ProgramOutput::Watch() {
  if (watched_ || read_timer_.pending() || !pipe_) return;
  const Status status = params_.loop.Watch(pipe_.get(), EPOLLIN, [this](uint32_t) { OnReadable(); });
  watched_ = status.has_value();
  if (watched_) return;
  if (!std::exchange(refused_, true)) WarnOfPolling(params_.name, status.error());
  ReadLater();
}

void ProgramOutput::ReadLater() {
  read_timer_ = params_.loop.After(kPollInterval, [this] {
    Watch();
    if (!watched_) OnReadable();
  });
}

void ProgramOutput::Unwatch() {
  read_timer_.Cancel();
  if (std::exchange(watched_, false)) params_.loop.Forget(pipe_.get());
}

void ProgramOutput::OnReadable() {
  if (params_.ends_with_reader && params_.console.gone()) return Stop();
  // One of the two may have become full while the other was waited for.
  if (WaitsForRoom()) return;
  Read(kChunk);
  WaitsForRoom();
}

bool ProgramOutput::WaitsForRoom() {
  for (Console* destination : {&params_.console, params_.file}) {
    if (destination == nullptr || !destination->full()) continue;
    WatchWhenRoom(*destination);
    return true;
  }
  return false;
}

void ProgramOutput::WatchWhenRoom(Console& console) {
  Unwatch();
  console.WhenRoom([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) Watch();
  });
}

void ProgramOutput::Stop() {
  Unwatch();
  pipe_.Reset();
  FlushLabelled();
}

// The number of bytes; 0 at the end, or if the pipe is empty.
size_t ProgramOutput::Read(size_t at_most) {
  std::array<char, kChunk> buffer;
  const ssize_t got = TEMP_FAILURE_RETRY(read(pipe_.get(), buffer.data(), std::min(at_most, buffer.size())));
  if (got < 0 && errno == EAGAIN) return 0;
  if (got <= 0) {
    Stop();
    return 0;
  }
  Take({buffer.data(), static_cast<size_t>(got)});
  return static_cast<size_t>(got);
}

void ProgramOutput::Take(std::string_view bytes) {
  tail_.Append(bytes);
  if (params_.file != nullptr) params_.file->Write(bytes);
  if (!labeller_) return params_.console.Write(bytes);
  labelled_.clear();
  labeller_->Take(bytes, labelled_);
  // An unfinished line from here on is new.
  if (!labelled_.empty()) flush_timer_.Cancel();
  if (!labelled_.empty()) params_.console.Write(labelled_);
  FlushSoon();
}

void ProgramOutput::FlushSoon() {
  if (!labeller_->unfinished() || flush_timer_.pending()) return;
  flush_timer_ = params_.loop.After(kUnfinishedFor, [this] { FlushLabelled(); });
}

void ProgramOutput::FlushLabelled() {
  if (!labeller_ || !labeller_->unfinished()) return;
  labelled_.clear();
  labeller_->Flush(labelled_);
  params_.console.Write(labelled_);
}

void ProgramOutput::TakeRest() {
  int available = 0;
  if (pipe_ && ioctl(pipe_.get(), FIONREAD, &available) != 0) available = 0;
  auto left = static_cast<size_t>(std::max(available, 0));
  // A pipe holds little: our stream takes it even if it is full.
  while (pipe_ && left > 0) {
    const size_t got = Read(left);
    if (got == 0) break;
    left -= std::min(left, got);
  }
  FlushLabelled();
}

}  // namespace muster::output
