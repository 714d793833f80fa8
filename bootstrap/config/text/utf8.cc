#include "bootstrap/config/text/utf8.h"

#include <cstdint>

namespace muster::config {
namespace {

// How a sequence goes on, by its first byte: RFC 3629 §4.
struct Form {
  size_t length;       // 0: cannot come first
  uint8_t second_low;  // the bounds of the second byte keep out overlong forms and surrogates
  uint8_t second_high;
};

Form FormOf(uint8_t first) {
  if (first < 0x80) return {1, 0, 0};
  if (first < 0xc2) return {0, 0, 0};
  if (first < 0xe0) return {2, 0x80, 0xbf};
  if (first == 0xe0) return {3, 0xa0, 0xbf};
  if (first == 0xed) return {3, 0x80, 0x9f};
  if (first < 0xf0) return {3, 0x80, 0xbf};
  if (first == 0xf0) return {4, 0x90, 0xbf};
  if (first < 0xf4) return {4, 0x80, 0xbf};
  if (first == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

bool IsBetween(char c, uint8_t low, uint8_t high) {
  const auto byte = static_cast<uint8_t>(c);
  return byte >= low && byte <= high;
}

}  // namespace

size_t FirstInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Form form = FormOf(static_cast<uint8_t>(text[at]));
    if (form.length == 0 || at + form.length > text.size()) return at;
    if (form.length > 1 && !IsBetween(text[at + 1], form.second_low, form.second_high)) return at;
    for (size_t i = 2; i < form.length; ++i) {
      if (!IsBetween(text[at + i], 0x80, 0xbf)) return at;
    }
    at += form.length;
  }
  return at;
}

}  // namespace muster::config
