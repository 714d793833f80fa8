#include "bootstrap/status/live_view.h"

#include <fmt/core.h>

#include <algorithm>

#include "comm/base/parse.h"

namespace muster::status {
namespace {

constexpr std::string_view kClearScreen = "\x1b[H\x1b[2J";
constexpr std::string_view kEndOfRow = "\x1b[K\r\n";
constexpr std::string_view kClearBelow = "\x1b[J";
constexpr size_t kContinued = 2;

bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }
bool IsControl(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }

// A line's characters: each of one column.
std::vector<std::string> CharactersOf(std::string_view line) {
  std::vector<std::string> characters;
  for (const char byte : line) {
    if (ContinuesCharacter(byte) && !characters.empty()) {
      characters.back() += byte;
    } else {
      characters.emplace_back(1, IsControl(byte) ? '?' : byte);
    }
  }
  return characters;
}

// The end of the row that begins at `begin`: if a word does not fit, the row ends before it.
size_t EndOfRow(const std::vector<std::string>& characters, size_t begin, size_t columns) {
  const size_t full = begin + columns;
  if (full >= characters.size()) return characters.size();
  if (characters[full] == " ") return full;
  size_t word = begin;
  while (word < full && characters[word] == " ") ++word;
  for (size_t end = full; end > word; --end) {
    if (characters[end - 1] == " ") return end;
  }
  return full;
}

// The rows after the first are indented.
void AddRows(std::string_view line, size_t columns, std::vector<std::string>& rows) {
  const std::vector<std::string> characters = CharactersOf(line);
  const std::string indent(std::min(line.find_first_not_of(' '), line.size()) + kContinued, ' ');
  std::string row;
  size_t begin = 0;
  do {
    const size_t end = EndOfRow(characters, begin, columns - row.size());
    for (; begin < end; ++begin) row += characters[begin];
    while (begin < characters.size() && characters[begin] == " ") ++begin;
    if (begin < characters.size()) row.resize(row.find_last_not_of(' ') + 1);
    rows.push_back(std::move(row));
    row = indent.substr(0, columns / 4);
  } while (begin < characters.size());
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
