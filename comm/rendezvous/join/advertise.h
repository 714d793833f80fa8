// Which addresses of this node other nodes are told for data connections.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/base/error.h"

namespace muster::rendezvous {

// `pattern`: rendezvous.interface (a name, a glob, a CIDR): all addresses of this node that match, never
// loopback, link-local or a network that exists on every node alike. Absent: `proven`, the local addresses
// that a connection between nodes already used. Error: kConfiguration where the pattern matches nothing;
// lists what there is.
Result<std::vector<std::string>> AddressesToAdvertise(const std::optional<std::string>& pattern,
                                                      const std::vector<std::string>& proven);

}  // namespace muster::rendezvous
