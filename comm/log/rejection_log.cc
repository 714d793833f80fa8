#include "comm/log/rejection_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "comm/log/log_at_exit.h"
#include "comm/system/fork_guard.h"

namespace muster {

namespace {

constexpr auto kMinute = std::chrono::minutes(1);

using Counts = std::map<std::string, uint64_t>;  // by subject: not logged

using Write = void(LogLevel level, std::string_view event, LogFields fields, std::string_view message);

void LogSums(const Counts& counts, Write* write = LogLine) {
  if (counts.empty()) return;
  uint64_t sum = 0;
  std::string text;
  for (const auto& [subject, count] : counts) {
    text += fmt::format("{}{} more {}", sum == 0 ? "" : ", ", count, subject);
    sum += count;
  }
  const LogField field{"count", sum};
  write(LogLevel::kWarning, "strangers", {&field, 1},
        fmt::format("rejected {} (not logged one by one)", text));
}

}  // namespace

class RejectionLog::Minute {
 public:
  static Minute& OfProcess() {
    static Minute& minute = *new Minute;  // never destroyed, like the log
    return minute;
  }
  Minute() {
    [[maybe_unused]] const int added = std::atexit([] { OfProcess().AtExit(); });
  }
  Minute(const Minute&) = delete;
  Minute& operator=(const Minute&) = delete;

  void Begin() {
    const std::lock_guard lock(mutex_);
    ++logs_;
  }
  // Not before the last rejection: that may have another clock.
  void End() {
    std::unique_lock lock(mutex_);
    if (--logs_ != 0) return;
    const Counts sums = TakeSums(std::max(Clock::now(), last_));
    lock.unlock();
    LogSums(sums);
  }

  // True if the rejection is to be logged.
  bool Take(const std::string& subject, Clock::time_point now) {
    Counts sums;
    std::unique_lock lock(mutex_);
    last_ = now;
    if (now - began_ >= kMinute) {
      sums = TakeSums(now);
      logged_ = 0;
      subjects_.clear();
      began_ = now;
    }
    const bool first = subjects_.insert(subject).second;
    const bool logs = logged_ < (first ? kMostPerMinute : kLoggedPerMinute);
    ++(logs ? logged_ : counts_[subject]);
    lock.unlock();
    LogSums(sums);
    return logs;
  }

  void Reset() {
    const std::lock_guard lock(mutex_);
    began_ = {};
    logged_ = 0;
    subjects_.clear();
    counts_.clear();
    sums_at_.reset();
    depth_ = ForkDepth();
  }

 private:
  // None if this minute has its line of sums: the next one contains these.
  Counts TakeSums(Clock::time_point now) {
    if (counts_.empty() || (sums_at_ && now - *sums_at_ < kMinute)) return {};
    sums_at_ = now;
    return std::exchange(counts_, {});
  }

  // exit may have been called in a signal handler, above a function that holds the lock.
  void AtExit() {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || ForkDepth() != depth_) return;
    const Counts sums = std::exchange(counts_, {});
    lock.unlock();
    LogSums(sums, LogLineAtExit);
  }

  std::mutex mutex_;
  int depth_ = ForkDepth();  // a child of fork(2) has the counts of its parent
  int logs_ = 0;
  Clock::time_point began_{};
  Clock::time_point last_{};
  uint64_t logged_ = 0;
  std::set<std::string> subjects_;  // rejected in this minute
  Counts counts_;
  std::optional<Clock::time_point> sums_at_;
};

RejectionLog::RejectionLog(std::string subject) : subject_(std::move(subject)) {
  Minute::OfProcess().Begin();
}

RejectionLog::~RejectionLog() { Minute::OfProcess().End(); }

void RejectionLog::ResetForTest() { Minute::OfProcess().Reset(); }

void RejectionLog::Add(LogLevel level, LogFields fields, std::string_view message, Clock::time_point now) {
  if (level == LogLevel::kDebug && !LogEnabled(level)) return;
  if (Minute::OfProcess().Take(subject_, now) && LogEnabled(level))
    LogLine(level, "stranger", fields, message);
}

}  // namespace muster
