// The sink for a standard error that is no regular file. It writes log lines immediately if possible, else it waits for
// a moment, then keeps them for the next line and for Flush; it drops and counts those for which there is no room. A
// reader that has stopped (Ctrl-S, a full pipe) must not stop the heartbeats of the logging process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "comm/base/deadline.h"

namespace muster {

class BoundedSink {
 public:
  // `fd` stays the caller's. `complain` makes the line that counts what was dropped from its sentence.
  BoundedSink(int fd, std::string (*complain)(std::string_view)) : fd_(fd), complain_(complain) {}

  // `line` ends with a line feed.
  void Write(std::string_view line);
  // Text that is no complete line: the line on a terminal that is rewritten. Dropped instead of waiting.
  void WriteRaw(std::string_view text);
  // Waits for the reader of the kept lines, at most until the deadline.
  void Flush(Deadline deadline);

 private:
  static constexpr size_t kMostKept = size_t{64} * 1024;

  bool Ready(Deadline deadline) const;
  // As write(2).
  ssize_t Put(std::string_view text) const;
  void PutKept(Deadline deadline);

  int fd_;
  std::string (*complain_)(std::string_view);
  std::string kept_;
  uint64_t dropped_ = 0;
};

}  // namespace muster
