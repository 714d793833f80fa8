// The ranks that a failure names.
#pragma once

#include <set>
#include <string>

namespace muster::simulation {

// The ranks that a message names: "rank 3 is", "ranks 4-7 on n2, 9 on n3", "n3: 8,9 (never connected)". Not those of "has another
// job secret than rank 0 on n0".
std::set<int> RanksIn(const std::string& text);

}  // namespace muster::simulation
