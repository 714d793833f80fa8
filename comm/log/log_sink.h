// A destination of log lines. Threads: one at a time, under the lock of the log.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace muster {

// A line of the log, in its format, of a sentence about the log itself. Called under the lock of the log.
using LineAboutLog = std::function<std::string(std::string_view sentence)>;

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
