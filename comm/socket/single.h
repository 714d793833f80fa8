// The communicator of a world of one: every operation works, nothing is opened and nothing can block.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace muster::socket {

// `roster` has exactly one member.
std::unique_ptr<Communicator> MakeSingleCommunicator(Roster roster);

}  // namespace muster::socket
