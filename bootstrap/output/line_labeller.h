// Puts a label in front of every line of a stream, as `srun -l` does. Pure.
//
// Only whole lines come out, so that those of several streams can be put together. All bytes but line ends
// pass as they are. A carriage return begins its line anew (progress bars), so the label is repeated after
// it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::output {

class LineLabeller {
 public:
  // A longer line is cut into several.
  static constexpr size_t kLongestLine = size_t{64} * 1024;

  explicit LineLabeller(std::string label) : label_(std::move(label)) {}

  // Appends to `out` the lines that are whole by now.
  void Take(std::string_view bytes, std::string& out);
  // An unfinished line, with a line end: at the end of the stream, or for a reader that waits.
  void Flush(std::string& out);
  bool unfinished() const { return !line_.empty(); }

 private:
  void AppendLine(std::string_view line, std::string& out) const;

  const std::string label_;
  std::string line_;
};

}  // namespace muster::output
