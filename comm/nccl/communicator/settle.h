// Waits for what only answers questions.
#pragma once

#include <functional>

#include "comm/base/deadline.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

// Calls `ask` repeatedly, at intervals that grow (to at most 10 ms) with the time it has waited for, until the answer is not kInProgress, and
// returns it. kInProgress: the deadline has passed, or `stop_fd` is readable (-1: none).
NcclResult Settle(const std::function<NcclResult()>& ask, Deadline deadline, int stop_fd);

// The first of the two that is an error.
NcclResult WorseOf(NcclResult one, NcclResult other);

// "unhandled cuda error: ..." with NCCL's last error text in this process.
std::string ExplainNccl(const NcclApi& nccl, NcclResult result);

}  // namespace muster::nccl
