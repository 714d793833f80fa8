// The invariants of maps (run_scenario.h has the list).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tests/simulation/scenario/damage.h"
#include "tests/simulation/scenario/run_scenario.h"

namespace muster::simulation {

std::vector<std::string> JudgeMaps(const Scenario& scenario, const std::deque<Outcome>& outcomes,
                                   const std::vector<Damage>& damages, const Observed& observed);

}  // namespace muster::simulation
