// Looks at this process and its node. The only file of this room that asks the operating system.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/check/findings/facts.h"

namespace muster::check {

// Does not block.
RankFacts FactsOfThisProcess(std::optional<std::string> visible_devices);

// `addresses`: this node's in the roster, best first; empty where there is one node only. What cannot be
// found out stays empty. Reads /sys and /dev; does not block.
NodeFacts FactsOfThisNode(const std::vector<std::string>& addresses);

}  // namespace muster::check
