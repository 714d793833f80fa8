// The addresses of a node in the roster, with which other nodes reach it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::rendezvous {

// The addresses of this node that other nodes use for data connections. `pattern`: rendezvous.interface (a
// name, a glob, a CIDR): all addresses of this node that match and have a link, never loopback, link-local or a
// network that every node has; those in `proven` come first. Absent: `proven`, the local addresses that a
// connection between nodes already used. Error:
// kConfiguration if the pattern matches nothing; it lists the available addresses, and names `node`, because
// every rank of the group receives it.
Result<std::vector<std::string>> AddressesToAdvertise(std::string_view node,
                                                      const std::optional<std::string>& pattern,
                                                      const std::vector<std::string>& proven);

}  // namespace muster::rendezvous
