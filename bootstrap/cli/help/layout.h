// Text for a terminal or a file: wrapped paragraphs, columns, and emphasis on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::cli {

// Paragraphs, each line with `indent` spaces in front and at most `width` bytes in all; ends with a newline. A line of
// `text` that begins with a space is kept as it is, behind the indent.
std::string Wrapped(std::string_view text, size_t indent, size_t width);

struct Style {
  size_t width = 80;
  bool colour = false;

  std::string Strong(std::string_view text) const;
};

enum class ColourChoice { kAuto, kAlways, kNever };

// Of standard output: colour on a terminal alone, as wide as the terminal is, but at most 100 columns. `no_color`: the
// variable NO_COLOR is set and not empty (no-color.org). `term`: the variable TERM.
Style StyleOfStandardOutput(ColourChoice choice, bool no_color, std::string_view term);

}  // namespace muster::cli
