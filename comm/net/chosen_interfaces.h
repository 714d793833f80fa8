// The network interfaces that rendezvous.interface chooses on this node, for the libraries that programs
// bring (NCCL, Gloo), which want names.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster::net {

// Those whose addresses AddressesToAdvertise offers, each once, in the same order; empty without a pattern,
// or where it matches nothing.
std::vector<std::string> ChosenInterfaces(const std::optional<std::string>& pattern);

}  // namespace muster::net
