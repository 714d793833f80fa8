#include "comm/map/printable.h"

#include <fmt/core.h>

namespace muster::map {

std::string Printable(std::string_view key) {
  std::string text;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < ' ' || byte == 0x7f ? fmt::format("%{:02X}", byte) : std::string(1, c);
  }
  return text;
}

}  // namespace muster::map
