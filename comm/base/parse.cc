#include "comm/base/parse.h"

#include <algorithm>
#include <array>

namespace muster {
namespace {

struct Unit {
  std::string_view name;
  Duration length;
};

constexpr std::array<Unit, 7> kUnits = {{
    {"d", std::chrono::hours(24)},
    {"h", std::chrono::hours(1)},
    {"m", std::chrono::minutes(1)},
    {"s", std::chrono::seconds(1)},
    {"ms", std::chrono::milliseconds(1)},
    {"us", std::chrono::microseconds(1)},
    {"ns", std::chrono::nanoseconds(1)},
}};

constexpr double kLongestSeconds = 100.0 * 365 * 24 * 3600;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

tl::unexpected<Error> BadDuration(std::string_view text, std::string_view why) {
  return WithHint(Fail(Code::kConfiguration, "\"{}\" is not a duration: {}", text, why),
                  "write for example 500ms, 30s, 10m or 16h40m; a bare number is seconds");
}

// Takes digits with at most one decimal point off the front.
std::optional<double> TakeNumber(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && (IsDigit(text[length]) || text[length] == '.')) ++length;
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + length, value, std::chars_format::fixed);
  if (length == 0 || error != std::errc{} || end != text.data() + length) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

const Unit* TakeUnit(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && IsLetter(text[length])) ++length;
  for (const Unit& unit : kUnits) {
    if (unit.name == text.substr(0, length)) {
      text.remove_prefix(length);
      return &unit;
    }
  }
  return nullptr;
}

}  // namespace

Result<Duration> ParseDuration(std::string_view text) {
  std::string_view rest = Trim(text);
  if (rest.empty()) return BadDuration(text, "it is empty");
  double seconds = 0;
  Duration total = Duration::zero();
  Duration last_unit = Duration::max();
  do {
    const auto number = TakeNumber(rest);
    if (!number) return BadDuration(text, "a number is expected");
    Duration unit = std::chrono::seconds(1);
    if (!rest.empty() || last_unit != Duration::max()) {
      const Unit* found = TakeUnit(rest);
      if (found == nullptr) return BadDuration(text, "the units are d, h, m, s, ms, us and ns");
      if (found->length >= last_unit) return BadDuration(text, "units go from large to small, each once");
      unit = found->length;
    }
    last_unit = unit;
    seconds += *number * std::chrono::duration<double>(unit).count();
    if (seconds > kLongestSeconds) return BadDuration(text, "it is longer than 100 years");
    // Part by part: the sum of seconds has too few digits for nanoseconds beside days.
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): the number is not negative, and lround is libm's
    total += Duration(static_cast<Duration::rep>(*number * static_cast<double>(unit.count()) + 0.5));
  } while (!rest.empty());
  return total;
}

std::string FormatDuration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  std::string text;
  for (const Unit& unit : kUnits) {
    const auto count = duration / unit.length;
    if (count == 0) continue;
    duration -= count * unit.length;
    text += fmt::format("{}{}", count, unit.name);
  }
  return text;
}

std::string FormatSeconds(Duration duration) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(duration).count());
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> Words(std::string_view text, std::string_view blanks) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; (begin = text.find_first_not_of(blanks, begin)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(blanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> DevicesIn(std::string_view list) {
  std::vector<std::string_view> devices;
  for (const std::string_view device : Split(list, ',')) {
    const std::string_view name = Trim(device);
    if (name.empty() || name.starts_with('-') || name == "NoDevFiles") break;
    devices.push_back(name);
  }
  return devices;
}

}  // namespace muster
