// NCCL writes what it has to say to standard output, which belongs to the program. Here it goes to muster's
// log, where the rank stands in front of it.
#pragma once

#include <string>
#include <string_view>

#include "comm/base/error.h"

namespace muster::nccl {

// Starts a thread that logs every line written to the file whose path is the result, for the rest of the
// process's life (NCCL never closes it). What NCCL calls a warning is one; the rest is info. Error: kSystem:
// no pipe or no thread.
Result<std::string> OpenNcclLog();

// Without NCCL's own "host:pid:thread [device] " in front.
std::string_view MessageOfNcclLine(std::string_view line);

}  // namespace muster::nccl
