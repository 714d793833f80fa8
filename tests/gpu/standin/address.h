// Abstract Unix sockets: nothing of them is left behind.
#pragma once

#include <string>

#include "comm/base/unique_fd.h"

namespace muster::standin {

// Without a descriptor where it cannot be had.
UniqueFd Listen(const std::string& name);
UniqueFd Connect(const std::string& name);

}  // namespace muster::standin
