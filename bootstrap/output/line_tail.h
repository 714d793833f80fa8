// The last lines of a stream, for the report of a failure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::output {

class LineTail {
 public:
  static constexpr size_t kMostBytes = 4096;
  static constexpr size_t kMostLines = 20;

  void Append(std::string_view bytes);

  // At most the last 20 lines and 4 KiB, whole lines if possible ("..." if even one line is too long),
  // without the final line end. Of a line that was rewritten (progress bars: \r) the text that a terminal
  // would show last. Valid UTF-8: other bytes, and control characters but \n and \t, are shown as \x1b.
  std::string Text() const;

 private:
  std::string bytes_;  // the end of the stream, up to twice kMostBytes
  bool cut_ = false;   // bytes_ does not begin at a line's beginning
};

}  // namespace muster::output
