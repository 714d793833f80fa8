#include "bootstrap/status/live_view.h"

#include <fmt/core.h>

#include <algorithm>

#include "comm/base/parse.h"

namespace muster::status {
namespace {

constexpr std::string_view kClearScreen = "\x1b[H\x1b[2J";
constexpr std::string_view kEndOfRow = "\x1b[K\r\n";
constexpr std::string_view kClearBelow = "\x1b[J";

bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }
bool IsControl(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }

void AddRows(std::string_view line, size_t columns, std::vector<std::string>& rows) {
  std::string row;
  size_t used = 0;
  for (const char byte : line) {
    if (!ContinuesCharacter(byte) && used++ == columns) {
      rows.push_back(std::move(row));
      row.clear();
      used = 1;
    }
    row += IsControl(byte) ? '?' : byte;
  }
  rows.push_back(std::move(row));
}

}  // namespace

std::vector<std::string> FitToWindow(std::string_view text, Window window) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  // A terminal that is full to its last column would clear that column with the rest of the row.
  const size_t columns = std::max<size_t>(window.columns, 2) - 1;
  std::vector<std::string> rows;
  for (const std::string_view line : Split(text, '\n')) AddRows(line, columns, rows);
  // The row of the cursor is below the frame.
  const size_t most = std::max<size_t>(window.rows, 2) - 1;
  if (rows.size() <= most) return rows;
  const size_t hidden = rows.size() - (most - 1);
  rows.resize(most - 1);
  std::vector<std::string> last;
  AddRows(fmt::format("... {} more rows", hidden), columns, last);
  rows.push_back(last.front());
  return rows;
}

std::string LiveView::Draw(std::string_view text, Window window) {
  std::string bytes;
  if (rows_ > 0) bytes = window == window_ ? fmt::format("\r\x1b[{}A", rows_) : std::string(kClearScreen);
  const std::vector<std::string> rows = FitToWindow(text, window);
  for (const std::string& row : rows) bytes.append(row).append(kEndOfRow);
  rows_ = rows.size();
  window_ = window;
  return bytes.append(kClearBelow);
}

}  // namespace muster::status
