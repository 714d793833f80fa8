#include "bootstrap/cli/flag_values.h"

#include <set>

#include "comm/base/parse.h"

namespace muster::cli {
namespace {

constexpr size_t kMostRanks = 4096;

tl::unexpected<Error> Bad(std::string_view text) {
  return WithHint(Fail(Code::kUsage, "--listen: \"{}\" is no address", text),
                  "write HOST, HOST:PORT or [ADDRESS]:PORT; port 0 is any free port");
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

Result<std::vector<int>> ParseRankList(std::string_view text, std::string_view flag) {
  std::set<int> ranks;
  for (const std::string_view part : Split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = ParseInteger<int>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseInteger<int>(part.substr(dash + 1));
    const bool fits = first && last && *first >= 0 && *last >= *first &&
                      static_cast<size_t>(*last - *first) < kMostRanks - ranks.size();
    if (!fits) {
      return WithHint(Fail(Code::kUsage, "{} \"{}\" is not a list of ranks", flag, text),
                      "write it as 0-3,7; at most 4096 ranks");
    }
    for (int rank = *first; rank <= *last; ++rank) ranks.insert(rank);
  }
  return std::vector<int>(ranks.begin(), ranks.end());
}

}  // namespace muster::cli
