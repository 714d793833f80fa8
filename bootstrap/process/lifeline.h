// A process that lives as long as somebody holds the other end of its standard input.
#pragma once

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::process {

// Takes the standard input away from this process and its programs, which read /dev/null from now on. What is
// returned becomes readable and then at its end when the other side is gone. Error: kSystem.
Result<UniqueFd> TakeStandardInput();

}  // namespace muster::process
