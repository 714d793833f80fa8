#include "bootstrap/map/items/item_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "comm/map/journal/identity.h"

namespace muster::map {
namespace {

constexpr size_t kLongestKey = 512;
constexpr size_t kLongestName = 180;
constexpr size_t kDigestBytes = 12;

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Bytes that `plain` refuses become %XX.
template <typename Plain>
std::string Escaped(std::string_view text, Plain plain) {
  std::string escaped;
  for (const char c : text) {
    if (plain(c)) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

// Ends with "~" and a digest of `whole`, and has at most `most` bytes. Characters stay whole.
std::string Shortened(std::string_view text, std::string_view whole, size_t most) {
  size_t keep = most - 2 * kDigestBytes - 1;
  while (keep > 0 && (static_cast<unsigned char>(text[keep]) & 0xc0) == 0x80) --keep;
  const Digest digest = DigestOf(AsBytes(whole));
  return fmt::format("{}~{:02x}", text.substr(0, keep), fmt::join(std::span(digest).first(kDigestBytes), ""));
}

std::string Joined(ItemFields fields) {
  std::ranges::sort(fields);
  const auto plain = [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && c != '%' && c != ',' && c != '=';
  };
  std::string joined;
  for (const auto& [name, text] : fields) {
    joined += fmt::format("{}{}={}", joined.empty() ? "" : ",", Escaped(name, plain), Escaped(text, plain));
  }
  return joined;
}

}  // namespace

const std::string* Find(const ItemFields& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &ItemFields::value_type::first);
  return found == fields.end() ? nullptr : &found->second;
}

std::string KeyOf(const ItemFields& fields) {
  std::string key;
  if (const std::string* own = Find(fields, "key")) {
    key = *own;
  } else if (const std::string* id = Find(fields, "id")) {
    key = *id;
  } else if (fields.size() == 1 && fields.front().first == "item") {
    key = fields.front().second;
  } else {
    key = Joined(fields);
  }
  return key.size() > kLongestKey ? Shortened(key, key, kLongestKey) : key;
}

std::string DirectoryNameOf(std::string_view key) {
  const auto plain = [](char c) {
    return IsAlphanumeric(c) || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("._-=,+@").find(c) != std::string_view::npos;
  };
  std::string name = Escaped(key, plain);
  // The names that others have in the directory of results.
  if (name.starts_with('.') || name == "journal") {
    name = fmt::format("%{:02X}{}", static_cast<unsigned char>(key.front()), name.substr(1));
  }
  return name.size() > kLongestName ? Shortened(name, key, kLongestName) : name;
}

}  // namespace muster::map
