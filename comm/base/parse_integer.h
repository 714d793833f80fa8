// Text to an integer, strictly. A separate header because it needs only the standard library.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace muster {

// Decimal only; absent for blanks, signs other than a leading '-' of a signed type, trailing text and
// overflow.
template <std::integral T>
std::optional<T> ParseInteger(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace muster
