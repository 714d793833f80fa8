// Bounds the log lines of rejected connections: foreign processes that connect in a loop must not fill the log,
// whichever listeners they attack.
//
// All listeners of a process share the limit, also one after another. In each minute the first kLoggedPerMinute
// rejections are logged, then one of each further listener, up to kMostPerMinute lines. Other rejections are
// counted for each listener. One line has the sums. It is written with the first rejection after that minute, or
// when no RejectionLog is left, at most once in 60 s; otherwise the next such line contains them, or one that exit(3)
// writes. So no 60 s have more than 20 lines.
//
// Threads: any. A line may wait for the log (log.h).
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
  static constexpr uint64_t kMostPerMinute = 9;

  // `subject`: the rejected objects, in the plural ("data connections"), for the line with the sums.
  explicit RejectionLog(std::string subject);
  RejectionLog(const RejectionLog&) = delete;
  RejectionLog& operator=(const RejectionLog&) = delete;
  ~RejectionLog();

  // Logs `message` as the event "stranger", or counts it. kDebug: the end of a connection whose peer may be a member; not
  // even counted at other levels of the log.
  void Add(LogLevel level, LogFields fields, std::string_view message, Clock::time_point now = Clock::now());
  void Add(LogLevel level, std::initializer_list<LogField> fields, std::string_view message,
           Clock::time_point now = Clock::now()) {
    Add(level, LogFields(fields.begin(), fields.size()), message, now);
  }

  // As in a new process.
  static void ResetForTest();

 private:
  class Minute;

  const std::string subject_;
};

}  // namespace muster
