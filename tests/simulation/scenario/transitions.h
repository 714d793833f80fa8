// Which messages arrived in which state of a process: the coverage of the state machines by the seeds.
#pragma once

#include <string>
#include <vector>

namespace muster::simulation {

class World;

// "forming:Hello,group:Leave,": each once.
std::string MessagesReceived(const World& world);
// The names of all.
std::vector<std::string> MessagesOfAGroup();

}  // namespace muster::simulation
