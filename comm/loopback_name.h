#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace muster {

// A name that means loopback on every node, whether or not it resolves here.
inline bool IsLoopbackName(std::string_view host) {
  constexpr std::string_view kNames[] = {"localhost", "localhost4", "localhost6", "ip6-localhost",
                                         "ip6-loopback"};
  return std::ranges::find(kNames, host) != std::end(kNames) || host.starts_with("localhost.");
}

}  // namespace muster
