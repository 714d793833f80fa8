// Which messages arrived in which state of a process: what the seeds have reached of the state machines.
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
