// A process of another user that disturbs a launch: it knows every open port, and no secret.
#pragma once

#include <cstdint>

#include "tests/simulation/machine/world.h"

namespace muster::simulation {

// connects and waits; sends random bytes; a frame that is announced and never comes; a long length; many connections;
// opens and closes; holds the ports of the launches
inline constexpr uint64_t kWaysOfStrangers = 7;

// On a fiber of `self`. The bytes that it receives are added to `*received`.
void RunStranger(Process& self, const Node& target, uint64_t way, Duration lasts, std::string* received);

}  // namespace muster::simulation
