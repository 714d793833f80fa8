// NCCL writes its messages to standard output, which is the program's. This sends them to muster's log
// instead, prefixed with the rank.
#pragma once

#include <string>
#include <string_view>

#include "comm/base/error.h"

namespace muster::nccl {

// Starts a thread that logs every line written to the file whose path is the result. It runs until the
// process ends (NCCL never closes the file). Programs that this process starts may write there as well. NCCL's
// warnings are warnings; all else is info. Error: kSystem: no pipe, no thread, or no /proc.
Result<std::string> OpenNcclLog();

// Without NCCL's own "host:pid:thread [device] " in front.
std::string_view MessageOfNcclLine(std::string_view line);

}  // namespace muster::nccl
