#include "bootstrap/output/line_labeller.h"

#include <algorithm>

namespace muster::output {

void LineLabeller::Take(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const size_t line_end = bytes.find('\n');
    const size_t room = kLongestLine - line_.size();
    const size_t length = std::min(line_end, room);
    if (length >= bytes.size()) {  // neither a line end nor too long
      line_ += bytes;
      return;
    }
    if (line_.empty()) {
      AppendLine(bytes.substr(0, length), out);
    } else {
      line_ += bytes.substr(0, length);
      Flush(out);
    }
    bytes.remove_prefix(length);
    if (bytes.starts_with('\n')) bytes.remove_prefix(1);
  }
}

void LineLabeller::Flush(std::string& out) {
  if (line_.empty()) return;
  AppendLine(line_, out);
  line_.clear();
}

void LineLabeller::AppendLine(std::string_view line, std::string& out) const {
  out += label_;
  // The last byte of a line may be the \r of \r\n, or a bar that waits for its next state.
  for (size_t from = 0; from < line.size();) {
    const size_t next = std::min(line.find('\r', from), line.size() - 1) + 1;
    out += line.substr(from, next - from);
    if (next < line.size()) out += label_;
    from = next;
  }
  out += '\n';
}

}  // namespace muster::output
