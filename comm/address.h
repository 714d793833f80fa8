// A host and a port as users write them: "gpu01:61000", "10.1.2.3:61000", "[fe80::1]:61000".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "comm/base/error.h"

namespace muster {

struct Endpoint {
  std::string host;  // a name or a numeric address, without brackets
  uint16_t port = 0;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Error: kConfiguration, names the text. Port 0 is refused.
Result<Endpoint> ParseEndpoint(std::string_view text);

// Brackets around an IPv6 address.
std::string ToString(const Endpoint& endpoint);

}  // namespace muster
