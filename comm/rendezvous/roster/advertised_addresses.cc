#include "comm/rendezvous/roster/advertised_addresses.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/net/hosts.h"

namespace muster::rendezvous {

Result<std::vector<std::string>> AddressesToAdvertise(std::string_view node,
                                                      const std::optional<std::string>& pattern,
                                                      const std::vector<std::string>& proven) {
  if (!pattern) return proven;
  MUSTER_TRY(const auto interfaces, net::LocalInterfaces());
  std::vector<std::string> matching;
  std::vector<std::string> all;
  for (const net::LocalInterface& interface : interfaces) {
    const std::string host = interface.address.Host();
    all.push_back(fmt::format("{} {}{}", interface.name, host, interface.has_link ? "" : " (no link)"));
    if (net::MayLeadToOtherNodes(interface, *pattern)) matching.push_back(host);
  }
  std::ranges::stable_partition(
      matching, [&](const std::string& host) { return std::ranges::count(proven, host) > 0; });
  if (!matching.empty()) return matching;
  return WithHint(
      Fail(Code::kConfiguration, "rendezvous.interface \"{}\" matches no usable address of {}", *pattern,
           node),
      fmt::format("{} has {}: choose one that leads to the other nodes", node, fmt::join(all, ", ")));
}

}  // namespace muster::rendezvous
