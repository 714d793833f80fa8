// The invariants of nodes that start again, and of roots that retire.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tests/simulation/scenario/damage.h"
#include "tests/simulation/scenario/member.h"

namespace muster::simulation {

std::vector<std::string> JudgeEndings(const Scenario& scenario, const std::deque<Outcome>& outcomes,
                                      const std::vector<Damage>& damages);

}  // namespace muster::simulation
