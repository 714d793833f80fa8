// A text that replaces itself on a terminal: the frames of `muster status --watch`. Pure: from texts to the
// bytes for the terminal. It changes no mode of the terminal, so that nothing must be restored at the end: the
// last frame stays on the screen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::status {

struct Window {
  size_t rows = 24;
  size_t columns = 80;

  friend bool operator==(const Window&, const Window&) = default;
};

// The lines of `text` in a window: longer ones continue with their next word in the next row,
// indented, and the last row counts those that do not fit. Control characters are '?'. A character takes one column.
std::vector<std::string> FitToWindow(std::string_view text, Window window);

class LiveView {
 public:
  // Puts `text` in the place of the text before, below the output of earlier commands. After a change of the
  // window the screen is cleared first.
  std::string Draw(std::string_view text, Window window);

 private:
  size_t rows_ = 0;  // of the last frame; the cursor is below it
  Window window_;
};

}  // namespace muster::status
