#include "deploy/examples/digits_data.h"

#include <algorithm>

#include "comm/base/parse.h"
#include "deploy/examples/regular_file.h"

namespace muster::examples {
namespace {

constexpr size_t kColumns = kPixels + 1;
constexpr unsigned kMaxPixel = 16;
constexpr unsigned kMaxLabel = 9;
// Two thousand times the data set that is shipped.
constexpr size_t kMaxFileBytes = size_t{512} << 20;

struct Place {
  std::string_view name;
  size_t line;
};

// Text of a file may be long or unprintable; an error message is neither.
std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 20;
  std::string quoted = "\"";
  for (const char c : text.substr(0, kShown)) quoted += c >= ' ' && c <= '~' ? c : '?';
  return quoted + (text.size() > kShown ? "...\"" : "\"");
}

Result<uint8_t> ParseValue(std::string_view text, size_t column, const Place& place) {
  const bool is_label = column == kPixels;
  const unsigned most = is_label ? kMaxLabel : kMaxPixel;
  if (const auto value = ParseInteger<unsigned>(text); value && *value <= most) {
    return static_cast<uint8_t>(*value);
  }
  return Fail(Code::kConfiguration, "{}:{}: value {} is {}: {} is a whole number from 0 to {}", place.name,
              place.line, column + 1, Quoted(text), is_label ? "a label" : "a pixel", most);
}

Status ParseLine(std::string_view line, const Place& place, Digits& digits) {
  const auto columns = static_cast<size_t>(std::ranges::count(line, ',')) + 1;
  if (columns != kColumns) {
    return Fail(Code::kConfiguration, "{}:{}: {} values where {} are expected ({} pixels and a label)",
                place.name, place.line, columns, kColumns, kPixels);
  }
  for (size_t column = 0; column < kColumns; ++column) {
    const size_t end = std::min(line.find(','), line.size());
    MUSTER_TRY(const uint8_t value, ParseValue(line.substr(0, end), column, place));
    (column == kPixels ? digits.labels : digits.pixels).push_back(value);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return {};
}

}  // namespace

Result<Digits> ParseDigits(std::string_view text, std::string_view name) {
  Digits digits;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    MUSTER_CHECK(ParseLine(text.substr(0, end), {name, line}, digits));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (digits.size() < 2) {
    return Fail(Code::kConfiguration, "{}: {} images; a nearest neighbour needs at least 2", name,
                digits.size());
  }
  return digits;
}

Result<Digits> LoadDigits(const std::string& path) {
  auto text = ReadRegularFile(path, kMaxFileBytes);
  if (!text)
    return WithHint(Fail(text.error()), "run from the repository's root, or say where it is: --data FILE");
  return ParseDigits(*text, path);
}

uint64_t Digest(const Digits& digits) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::vector<uint8_t>* part : {&digits.pixels, &digits.labels}) {
    for (const uint8_t byte : *part) hash = (hash ^ byte) * 0x100000001b3;
  }
  return hash;
}

}  // namespace muster::examples
