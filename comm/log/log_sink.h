// A destination of log lines. Threads: one at a time, under the lock of the log.
#pragma once

#include <string_view>

namespace muster {

class LogSink {
 public:
  LogSink() = default;
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;
  virtual ~LogSink() = default;

  // `line` ends with a line feed.
  virtual void Write(std::string_view line) = 0;
};

}  // namespace muster
