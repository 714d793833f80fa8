// Runs a scenario in a process of its own: static variables of one do not reach the next, and a crash is a
// violation like others.
#pragma once

#include "tests/simulation/scenario/run_scenario.h"

namespace muster::simulation {

Verdict RunInChild(const Scenario& scenario, bool with_log);

// Starts this program again with addresses that are the same each time, unless they are.
void FixAddresses(char** argv);

}  // namespace muster::simulation
