#include "bootstrap/cli/help/layout.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace muster::cli {
namespace {

constexpr size_t kNarrowest = 40;
constexpr size_t kWidest = 100;  // longer lines are hard to read

// Adds the words of `line` to `text`, whose last line has `column` bytes.
void AddWords(std::string_view line, size_t indent, size_t width, std::string& text, size_t& column) {
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    if (word.empty()) continue;
    if (column > 0 && column + 1 + word.size() > width) {
      text += '\n';
      column = 0;
    }
    text += column == 0 ? std::string(indent, ' ') : " ";
    column += column == 0 ? indent : 1;
    text += word;
    column += word.size();
  }
}

}  // namespace

std::string Wrapped(std::string_view text, size_t indent, size_t width) {
  std::string wrapped;
  size_t column = 0;
  const auto end_line = [&] {
    if (column > 0) wrapped += '\n';
    column = 0;
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == ' ') {
      end_line();
      if (!line.empty()) wrapped.append(indent, ' ').append(line);
      wrapped += '\n';
    } else {
      AddWords(line, indent, width, wrapped, column);
    }
  }
  end_line();
  return wrapped;
}

std::string Style::Strong(std::string_view text) const {
  return colour ? "\x1b[1m" + std::string(text) + "\x1b[0m" : std::string(text);
}

Style StyleOfStandardOutput(ColourChoice choice, bool no_color, std::string_view term) {
  Style style;
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  style.colour = choice == ColourChoice::kAlways ||
                 (choice == ColourChoice::kAuto && terminal && !no_color && term != "dumb");
  winsize size{};
  if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = std::clamp<size_t>(size.ws_col, kNarrowest, kWidest);
  }
  return style;
}

}  // namespace muster::cli
