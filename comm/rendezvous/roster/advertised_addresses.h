// Which of a node's addresses the roster has, so that other nodes reach it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::rendezvous {

// Which addresses of this node other nodes are told for data connections. `pattern`: rendezvous.interface (a
// name, a glob, a CIDR): all addresses of this node that match, never loopback, link-local or a network that
// exists on every node alike. Absent: `proven`, the local addresses that a connection between nodes already
// used. Error: kConfiguration if the pattern matches nothing; it lists what there is, and names `node`, because
// every rank of the group receives it.
Result<std::vector<std::string>> AddressesToAdvertise(std::string_view node,
                                                      const std::optional<std::string>& pattern,
                                                      const std::vector<std::string>& proven);

}  // namespace muster::rendezvous
