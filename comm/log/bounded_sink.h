// Where log lines go when they go to standard error: written at once where it can take them, waited for a
// moment where it cannot, and then dropped and counted. A reader that has stopped (Ctrl-S, a full pipe) must
// not stop the heartbeats of the process that logs.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "comm/log/log_sink.h"

namespace muster {

class BoundedSink final : public LogSink {
 public:
  // `fd` stays the caller's. `complain` makes the line that counts what was dropped.
  BoundedSink(int fd, LineAboutLog complain) : fd_(fd), complain_(std::move(complain)) {}

  void Write(std::string_view line) override;
  // Text that is no line of its own: the line on a terminal that is written again and again. Dropped where it
  // must wait.
  void WriteRaw(std::string_view text);

 private:
  bool Ready(int milliseconds) const;
  bool Put(std::string_view text);

  int fd_;
  LineAboutLog complain_;
  uint64_t dropped_ = 0;
};

}  // namespace muster
