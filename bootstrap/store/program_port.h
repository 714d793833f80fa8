// MASTER_PORT for programs that bind it themselves (run.store: program).
#pragma once

#include <cstdint>
#include <vector>

#include "comm/base/error.h"
#include "comm/options.h"

namespace muster::store {

// A port that is free on all addresses of this node now, from `ports` (outside the range where outgoing
// connections get theirs, so that it stays free until the program takes it), else one of the kernel's choice.
// `of_others` (Meeting::ports_of_others) is left alone. Error: kSystem.
Result<uint16_t> FreeProgramPort(PortRange ports, const std::vector<uint16_t>& of_others = {});

}  // namespace muster::store
