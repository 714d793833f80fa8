// Waiting for NCCL without being in it: with `blocking` off its calls come back at once, and the state of the
// communicator says when they are done.
#pragma once

#include <functional>

#include "comm/base/deadline.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

// Asks again and again, ever more slowly (at most every 10 ms), until the answer is another one than
// kInProgress; that is the result. kInProgress: the deadline has passed, or `stop_fd` is readable (-1: none).
NcclResult Settle(const std::function<NcclResult()>& ask, Deadline deadline, int stop_fd);

// The first of the two that is neither success nor under way.
NcclResult WorseOf(NcclResult one, NcclResult other);

// "unhandled cuda error: ..." with NCCL's last words in this process.
std::string ExplainNccl(const NcclApi& nccl, NcclResult result);

}  // namespace muster::nccl
