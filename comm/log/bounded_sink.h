// The sink for standard error. It writes log lines immediately if possible, else it waits for a moment, then
// drops and counts them. A reader that has stopped (Ctrl-S, a full pipe) must not stop the heartbeats of the
// logging process.
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
  // Text that is no complete line: the line on a terminal that is rewritten. Dropped instead of waiting.
  void WriteRaw(std::string_view text);

 private:
  bool Ready(int milliseconds) const;
  bool Put(std::string_view text);

  int fd_;
  LineAboutLog complain_;
  uint64_t dropped_ = 0;
};

}  // namespace muster
