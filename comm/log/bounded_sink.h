// Where log lines go when they go to standard error: written at once where it can take them, waited for a
// moment where it cannot, and then dropped and counted. A reader that has stopped (Ctrl-S, a full pipe) must
// not stop the heartbeats of the process that logs.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace muster {

class BoundedSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // `fd` stays the caller's.
  explicit BoundedSink(int fd) : fd_(fd) {}

  // Text that is no line of its own: the line on a terminal that is written again and again. Dropped where it
  // must wait.
  void WriteRaw(std::string_view text);

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  bool Ready(int milliseconds) const;
  bool Write(std::string_view text);

  int fd_;
  uint64_t dropped_ = 0;
};

}  // namespace muster
