#include "comm/base/printable.h"

#include <fmt/core.h>

namespace muster {
namespace {

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Number of bytes of the UTF-8 character that `text` begins with. Control characters of C1 are no such character.
size_t Characters(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return lead >= ' ' && lead != 0x7f ? 1 : 0;
  const size_t size = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  for (const char c : text.substr(1, size - 1)) {
    if (!Continues(c)) return 0;
  }
  const bool is_c1 = lead == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
  return is_c1 ? 0 : size;
}

}  // namespace

std::string Printable(std::string_view text, std::string_view kept) {
  std::string printable;
  while (!text.empty()) {
    const bool stays = kept.find(text.front()) != std::string_view::npos;
    const size_t size = stays ? 1 : Characters(text);
    if (size == 0) {
      printable += fmt::format("%{:02X}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    } else {
      printable += text.substr(0, size);
      text.remove_prefix(size);
    }
  }
  return printable;
}

}  // namespace muster
