#include "comm/log/file_sink.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "comm/base/error.h"
#include "comm/base/parse.h"
#include "comm/system/fork_guard.h"
#include "comm/system/start_thread.h"

namespace muster {
namespace {

constexpr size_t kMostKept = size_t{64} * 1024;
constexpr Duration kPatience = std::chrono::milliseconds(100);
constexpr Duration kPatienceAtEnd = std::chrono::seconds(1);

// The reason of a failure; empty: it is written.
std::string Put(const UniqueFd& file, const std::string& line) {
  const ssize_t written = TEMP_FAILURE_RETRY(write(file.get(), line.data(), line.size()));
  if (written == static_cast<ssize_t>(line.size())) return "";
  // A line is written in part only if the disk became full with it.
  return ErrnoText(written < 0 ? errno : ENOSPC);
}

}  // namespace

struct FileSink::Shared {
  using Lock = std::unique_lock<std::mutex>;

  Shared(UniqueFd f, std::string_view n, bool r, std::string (*c)(std::string_view))
      : file(std::move(f)), name(n), retries(r), complain(c) {}

  UniqueFd file;
  const std::string name;
  const bool retries;
  std::string (*const complain)(std::string_view);
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> kept;  // the thread writes the first one
  bool first_is_lost = false;    // already reported, in case the file never takes it
  size_t bytes = 0;              // of kept
  uint64_t dropped = 0;
  bool failing = false;
  bool paused = false;  // until the next line or Flush: the first one failed, and is to be tried again
  std::vector<Lost> lost;
  Clock::time_point stall_began;
  Clock::time_point drained;
  std::optional<Clock::time_point> end_began;  // the first Flush that has found kept lines
  bool ended = false;
  bool closed = false;

  void Work() {
    Lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ended || (!kept.empty() && !paused); });
      if (kept.empty()) break;
      // No other thread touches the first line.
      const std::string& line = kept.front();
      lock.unlock();
      std::string reason = Put(file, line);
      lock.lock();
      OnWritten(std::move(reason));
    }
    lock.unlock();
    file.Reset();
    lock.lock();
    closed = true;
    changed.notify_all();
  }

  void OnWritten(std::string reason) {
    if (retries && !reason.empty()) {
      paused = true;
      changed.notify_all();
      return;
    }
    std::string line = std::move(kept.front());
    kept.pop_front();
    bytes -= line.size();
    const bool reported = std::exchange(first_is_lost, false);
    if (reason.empty()) {
      failing = false;
    } else if (!reported) {
      Lose(lost, std::move(reason), std::move(line));
    }
    if (!kept.empty()) return;
    drained = Clock::now();
    changed.notify_all();
  }

  void Lose(std::vector<Lost>& to, std::string reason, std::string line) {
    if (std::exchange(failing, true)) reason.clear();
    to.push_back({std::move(reason), std::move(line)});
  }

  void Keep(std::string line) {
    bytes += line.size();
    kept.push_back(std::move(line));
    Resume();
  }

  void Resume() {
    paused = false;
    changed.notify_all();
  }

  // False: the file is stalled.
  bool Drain(Lock& lock, Clock::time_point until) {
    return changed.wait_until(lock, until, [this] { return kept.empty() || paused; });
  }

  std::string CountDropped(Clock::time_point until) {
    return complain(fmt::format("{} lines were not written: {} was blocked for {}", std::exchange(dropped, 0),
                                name, FormatSeconds(until - stall_began)));
  }

  void GiveUp() {
    const Clock::time_point now = Clock::now();
    const std::string reason = fmt::format("it has been blocked for {}", FormatSeconds(now - stall_began));
    for (size_t i = first_is_lost ? 1 : 0; i < kept.size(); ++i) Lose(lost, reason, kept[i]);
    if (dropped > 0) Lose(lost, reason, CountDropped(now));
    kept.resize(1);
    bytes = kept.front().size();
    first_is_lost = true;
  }
};

FileSink::FileSink(UniqueFd file, std::string_view name, Failed failed,
                   std::string (*complain)(std::string_view))
    : shared_(std::make_shared<Shared>(std::move(file), name, failed == Failed::kRetry, complain)) {
  struct stat status {};
  if (fstat(shared_->file.get(), &status) == 0 && S_ISREG(status.st_mode)) number_ = status.st_ino;
}

FileSink::~FileSink() {
  if (depth_ != ForkDepth()) return;
  Shared::Lock lock(shared_->mutex);
  shared_->ended = true;
  shared_->changed.notify_all();
  if (!shared_->kept.empty()) return;
  shared_->changed.wait_for(lock, kPatienceAtEnd, [this] { return shared_->closed; });
}

bool FileSink::HasThread() {
  if (number_ == 0) return false;  // it does not stall
  if (depth_ < 0 && StartDetachedThread([shared = shared_] { shared->Work(); })) depth_ = ForkDepth();
  return depth_ == ForkDepth();
}

std::vector<FileSink::Lost> FileSink::Write(std::string line) {
  Shared& shared = *shared_;
  if (!HasThread()) {
    std::vector<Lost> lost;
    std::string reason = Put(shared.file, line);
    reason.empty() ? void(shared.failing = false) : shared.Lose(lost, std::move(reason), std::move(line));
    return lost;
  }
  Shared::Lock lock(shared.mutex);
  const bool idle = shared.kept.empty();
  if (idle && shared.dropped > 0) shared.Keep(shared.CountDropped(shared.drained));
  if (!idle && (shared.dropped > 0 || shared.bytes + line.size() > kMostKept)) {
    ++shared.dropped;
    shared.Resume();
  } else {
    shared.Keep(std::move(line));
  }
  // A file that was too slow last time is not waited for again.
  const Clock::time_point now = Clock::now();
  if (idle && (!shared.Drain(lock, now + kPatience) || shared.paused)) shared.stall_began = now;
  return std::exchange(shared.lost, {});
}

std::vector<FileSink::Lost> FileSink::Flush(Deadline deadline) {
  if (depth_ != ForkDepth()) return {};
  Shared& shared = *shared_;
  Shared::Lock lock(shared.mutex);
  if (shared.kept.empty() && shared.dropped > 0) shared.Keep(shared.CountDropped(shared.drained));
  shared.Resume();
  if (deadline.Expired()) return std::exchange(shared.lost, {});
  if (!shared.end_began) shared.end_began = Clock::now();
  const Clock::time_point give_up_at = *shared.end_began + kPatienceAtEnd;
  if (shared.Drain(lock, std::min(deadline.when(), give_up_at))) {
    shared.end_began.reset();
  } else if (Clock::now() >= give_up_at) {
    shared.GiveUp();
  }
  return std::exchange(shared.lost, {});
}

}  // namespace muster
