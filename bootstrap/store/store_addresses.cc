#include "bootstrap/store/store_addresses.h"

#include <algorithm>

#include "bootstrap/store/master_port.h"

namespace muster::store {

StoreAddresses::StoreAddresses(const Roster& roster, int own_node, const std::vector<std::string>& own)
    : own_node_(own_node), own_(own) {
  const auto add = [this](const std::string& address, int node) {
    std::vector<int>& nodes = nodes_[net::WithoutInterface(address)];
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  };
  for (size_t node = 0; node < roster.nodes.size(); ++node) {
    for (const std::string& address : roster.nodes[node].addresses) add(address, static_cast<int>(node));
  }
  // An advertised address belongs to its node alone, even if another node has a network with the same
  // addresses.
  const auto advertised = nodes_;
  for (const Roster::Member& member : roster.members) {
    for (const std::string& address : AddressesInClaim(member)) {
      if (!advertised.contains(address)) add(address, member.node);
    }
  }
  const auto share_one = [&](int first, int second) {
    return std::ranges::any_of(
        roster.nodes[static_cast<size_t>(first)].addresses, [&](const std::string& address) {
          return std::ranges::count(advertised.at(net::WithoutInterface(address)), second) > 0;
        });
  };
  std::erase_if(nodes_, [&](const auto& entry) {
    const std::vector<int>& nodes = entry.second;
    return std::ranges::any_of(
        nodes, [&](int node) { return node != nodes.front() && !share_one(nodes.front(), node); });
  });
}

std::vector<int> StoreAddresses::NodesOf(const net::SocketAddress& peer) const {
  const auto found = nodes_.find(net::WithoutInterface(peer.Host()));
  if (found != nodes_.end()) return found->second;
  return IsOwn(peer) ? std::vector<int>{own_node_} : std::vector<int>{};
}

}  // namespace muster::store
