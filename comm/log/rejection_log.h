// Bounds the log lines of rejected connections: a foreign process that connects in a loop must not fill the
// log.
//
// In each minute the first kLoggedPerMinute rejections are logged; further ones are counted. The sum is one
// line, written with the first rejection after that minute or when the RejectionLog ends. One for each
// listener.
//
// Threads: those of its owner, one at a time. Nothing here blocks.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "comm/base/deadline.h"
#include "comm/log/log.h"

namespace muster {

class RejectionLog {
 public:
  static constexpr uint64_t kLoggedPerMinute = 5;

  // `subject`: the rejected objects, in the plural ("data connections"), for the line with the sum.
  explicit RejectionLog(std::string subject);
  RejectionLog(const RejectionLog&) = delete;
  RejectionLog& operator=(const RejectionLog&) = delete;
  ~RejectionLog();

  // Logs `message` as the event "stranger", or counts it.
  void Add(LogLevel level, LogFields fields, std::string_view message, Clock::time_point now = Clock::now());
  void Add(LogLevel level, std::initializer_list<LogField> fields, std::string_view message,
           Clock::time_point now = Clock::now()) {
    Add(level, LogFields(fields.begin(), fields.size()), message, now);
  }
  // Since the beginning, logged or not.
  uint64_t count() const { return count_; }

 private:
  void LogSum();

  const std::string subject_;
  Clock::time_point minute_began_{};
  uint64_t in_this_minute_ = 0;
  uint64_t count_ = 0;
};

}  // namespace muster
