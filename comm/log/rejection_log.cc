#include "comm/log/rejection_log.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

namespace muster {

class RejectionLog::Minute {
 public:
  static std::shared_ptr<Minute> OfProcess() {
    struct Shared {
      std::mutex mutex;
      std::weak_ptr<Minute> minute;
    };
    static Shared& shared = *new Shared;  // never destroyed, like the log
    const std::lock_guard lock(shared.mutex);
    auto minute = shared.minute.lock();
    if (!minute) shared.minute = minute = std::make_shared<Minute>();
    return minute;
  }
  Minute() = default;
  Minute(const Minute&) = delete;
  Minute& operator=(const Minute&) = delete;
  ~Minute() { LogSums(counts_); }

  // True if the rejection is to be logged.
  bool Take(const std::string& subject, Clock::time_point now) {
    Counts ended;
    std::unique_lock lock(mutex_);
    if (now - began_ >= std::chrono::minutes(1)) {
      ended.swap(counts_);
      logged_ = 0;
      began_ = now;
    }
    const auto [count, first] = counts_.try_emplace(subject);
    const bool logs = logged_ < (first ? kMostPerMinute : kLoggedPerMinute);
    ++(logs ? logged_ : count->second);
    lock.unlock();
    LogSums(ended);
    return logs;
  }

 private:
  using Counts = std::map<std::string, uint64_t>;  // by subject: not logged

  static void LogSums(const Counts& counts) {
    uint64_t sum = 0;
    std::string text;
    for (const auto& [subject, count] : counts) {
      if (count != 0) text += fmt::format("{}{} more {}", sum == 0 ? "" : ", ", count, subject);
      sum += count;
    }
    if (sum == 0) return;
    LogEvent(LogLevel::kWarning, "strangers", {{"count", sum}}, "rejected {} (not logged one by one)", text);
  }

  std::mutex mutex_;
  Clock::time_point began_{};
  uint64_t logged_ = 0;
  Counts counts_;
};

RejectionLog::RejectionLog(std::string subject)
    : subject_(std::move(subject)), minute_(Minute::OfProcess()) {}

void RejectionLog::Add(LogLevel level, LogFields fields, std::string_view message, Clock::time_point now) {
  if (level == LogLevel::kDebug && !LogEnabled(level)) return;
  if (minute_->Take(subject_, now) && LogEnabled(level)) LogLine(level, "stranger", fields, message);
}

}  // namespace muster
