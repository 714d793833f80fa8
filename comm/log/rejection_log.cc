#include "comm/log/rejection_log.h"

#include <utility>

namespace muster {

RejectionLog::RejectionLog(std::string subject) : subject_(std::move(subject)) {}

RejectionLog::~RejectionLog() { LogSum(); }

void RejectionLog::Add(LogLevel level, LogFields fields, std::string_view message, Clock::time_point now) {
  if (count_ == 0 || now - minute_began_ >= std::chrono::minutes(1)) {
    LogSum();
    minute_began_ = now;
    in_this_minute_ = 0;
  }
  ++count_;
  if (++in_this_minute_ > kLoggedPerMinute) return;
  if (LogEnabled(level)) LogLine(level, "stranger", fields, message);
}

void RejectionLog::LogSum() {
  if (in_this_minute_ <= kLoggedPerMinute) return;
  const uint64_t not_logged = in_this_minute_ - kLoggedPerMinute;
  LogEvent(LogLevel::kWarning, "strangers", {{"count", not_logged}},
           "rejected {} more {} (not logged one by one)", not_logged, subject_);
}

}  // namespace muster
