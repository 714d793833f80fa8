#include "bootstrap/cli/listen_address.h"

#include "comm/base/parse.h"

namespace muster::cli {
namespace {

tl::unexpected<Error> Bad(std::string_view text) {
  return WithHint(Fail(Code::kUsage, "--listen: \"{}\" is no address", text),
                  "HOST, HOST:PORT or [ADDRESS]:PORT; port 0 for any that is free");
}

}  // namespace

Result<Endpoint> ParseListenAddress(std::string_view text, uint16_t default_port) {
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  const bool bracketed = text.starts_with('[');
  const size_t bracket = text.find(']');
  // Two colons without brackets are those of an IPv6 address.
  const size_t colon = text.rfind(':');
  if (bracketed) {
    if (bracket == std::string_view::npos) return Bad(text);
    host = text.substr(1, bracket - 1);
    const std::string_view rest = text.substr(bracket + 1);
    has_port = !rest.empty();
    if (has_port && rest[0] != ':') return Bad(text);
    if (has_port) port = rest.substr(1);
  } else if (colon != std::string_view::npos && text.find(':') == colon) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  const auto number = has_port ? ParseInteger<uint16_t>(port) : std::optional(default_port);
  if (host.empty() || !number) return Bad(text);
  return Endpoint{std::string(host), *number};
}

}  // namespace muster::cli
