// For hash tables of strings that are looked up by views.
#pragma once

#include <functional>
#include <string_view>

namespace muster::tcp_store {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace muster::tcp_store
