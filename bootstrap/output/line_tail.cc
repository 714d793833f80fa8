#include "bootstrap/output/line_tail.h"

#include <fmt/core.h>

#include "bootstrap/config/text/utf8.h"

namespace muster::output {
namespace {

constexpr std::string_view kCutMark = "...";

bool IsControl(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
}

std::string Visible(char c) { return fmt::format("\\x{:02x}", static_cast<unsigned char>(c)); }

// The text that a terminal shows of a line that carriage returns have rewritten.
std::string_view LastWriting(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const size_t rewritten = line.rfind('\r');
  return rewritten == std::string_view::npos ? line : line.substr(rewritten + 1);
}

void AppendVisible(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const size_t valid = config::FirstInvalidUtf8(text);
    for (const char c : text.substr(0, valid)) out += IsControl(c) ? Visible(c) : std::string(1, c);
    if (valid == text.size()) return;
    out += Visible(text[valid]);
    text.remove_prefix(valid + 1);
  }
}

// The offset of the last lines of `text`.
size_t StartOfLastLines(std::string_view text, size_t lines) {
  size_t start = text.size();
  for (size_t line = 0; line < lines; ++line) {
    const size_t line_end = start == 0 ? std::string_view::npos : text.rfind('\n', start - 1);
    if (line_end == std::string_view::npos) return 0;
    start = line_end;
  }
  return start + 1;
}

}  // namespace

void LineTail::Append(std::string_view bytes) {
  bytes_ += bytes;
  if (bytes_.size() <= 2 * kMostBytes) return;
  const size_t drop = bytes_.size() - kMostBytes;
  cut_ = bytes_[drop - 1] != '\n';
  bytes_.erase(0, drop);
}

std::string LineTail::Text() const {
  std::string_view text = bytes_;
  bool cut = cut_;
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() > kMostBytes) {
    const size_t drop = text.size() - kMostBytes;
    cut = text[drop - 1] != '\n';
    text.remove_prefix(drop);
  }
  if (const size_t line_end = text.find('\n'); cut && line_end != std::string_view::npos) {
    text.remove_prefix(line_end + 1);
    cut = false;
  }
  if (const size_t start = StartOfLastLines(text, kMostLines); start > 0) text.remove_prefix(start);
  std::string out;
  while (true) {
    const size_t line_end = text.find('\n');
    const std::string_view line = text.substr(0, line_end);
    std::string_view shown = LastWriting(line);
    if (cut && shown.size() == line.size()) {
      out += kCutMark;
      // Not the tail of a character whose head was cut off.
      while (!shown.empty() && (static_cast<unsigned char>(shown.front()) & 0xc0) == 0x80)
        shown.remove_prefix(1);
    }
    cut = false;
    AppendVisible(shown, out);
    if (line_end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(line_end + 1);
  }
}

}  // namespace muster::output
