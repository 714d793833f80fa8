#include "comm/rendezvous/roster/advertised_addresses.h"

#include <fmt/format.h>

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
    all.push_back(fmt::format("{} {}", interface.name, interface.address.Host()));
    if (interface.address.IsLoopback() || interface.address.IsLinkLocal()) continue;
    if (net::IsNodeLocalInterface(interface.name) || !net::MatchesInterface(interface, *pattern)) continue;
    matching.push_back(interface.address.Host());
  }
  if (!matching.empty()) return matching;
  return WithHint(
      Fail(Code::kConfiguration, "rendezvous.interface \"{}\" matches no usable address of {}", *pattern,
           node),
      fmt::format("{} has {}: choose one that leads to the other nodes", node, fmt::join(all, ", ")));
}

}  // namespace muster::rendezvous
