#include "comm/address.h"

#include "comm/base/parse.h"

namespace muster {
namespace {

tl::unexpected<Error> BadEndpoint(std::string_view text, std::string_view why) {
  return WithHint(Fail(Code::kConfiguration, "\"{}\" is not an endpoint: {}", text, why),
                  "write host:port, for example gpu01:61000 or [2001:db8::1]:61000");
}

}  // namespace

Result<Endpoint> ParseEndpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return BadEndpoint(text, "the port is missing");
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) return BadEndpoint(text, "the host is missing");
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return BadEndpoint(text, "an IPv6 address needs brackets");
  }
  if (host.find_first_of(" \t\r\n[]/") != std::string_view::npos)
    return BadEndpoint(text, "the host has stray characters");
  const auto port = ParseInteger<uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0) return BadEndpoint(text, "the port is not a number from 1 to 65535");
  return Endpoint{std::string(host), *port};
}

std::string ToString(const Endpoint& endpoint) {
  const bool ipv6 = endpoint.host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
              : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

}  // namespace muster
