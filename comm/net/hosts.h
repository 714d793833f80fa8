// Names and addresses of hosts, and the addresses of this one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"
#include "comm/net/socket.h"

namespace muster::net {

// All addresses of a name (or of a numeric address), in the resolver's order, each once, with `port`. BLOCKS
// as long as the site's name service does: call it on a BlockingWorker. Error: kSystem, names the host.
Result<std::vector<SocketAddress>> ResolveHost(const std::string& host, uint16_t port);

// The numeric addresses `hosts` of another node, as a node with the addresses `own` connects to them: link-local ones through
// its own interface. A text that is no address is left out.
std::vector<SocketAddress> AddressesSeenFrom(const std::vector<std::string>& own,
                                             const std::vector<std::string>& hosts, uint16_t port);

struct LocalInterface {
  std::string name;  // "eth0"
  SocketAddress address;
  bool has_link = true;  // else no packet leaves it: no cable, no peer
};

// Every address of every interface that is up.
Result<std::vector<LocalInterface>> LocalInterfaces();

// "127.0.0.1", or "::1" if this node has only that.
std::string LoopbackHost();

// Networks that exist on every node with the same addresses and connect no nodes (docker0, virbr0, lo).
bool IsNodeLocalInterface(std::string_view name);

// `pattern`: a name, a glob over names ("eth*") or a CIDR ("10.1.0.0/16", "fd00::/8").
bool MatchesInterface(const LocalInterface& interface, std::string_view pattern);

// Chosen by `pattern`, with a link, never loopback, link-local or a network that every node has.
bool MayLeadToOtherNodes(const LocalInterface& interface, std::string_view pattern);

// The names of the interfaces that rendezvous.interface chooses on this node, for the libraries of programs
// (NCCL, Gloo). Those whose addresses AddressesToAdvertise offers, each once, that with the address `first` before all; empty
// without a pattern, or if it matches nothing.
std::vector<std::string> ChosenInterfaces(const std::optional<std::string>& pattern,
                                          std::string_view first = {});

}  // namespace muster::net
