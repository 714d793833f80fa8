// How a call on a communicator begins, whatever carries it: what both backends do alike.
#pragma once

#include <mutex>

#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/group/group.h"
#include "comm/ops/call.h"
#include "comm/ops/first_error.h"

namespace muster {

// Everything of a Call but its communicator and sequence.
Call CallOf(Operation operation, const ConstBuffer& elements = {}, int root = -1,
            ReduceOp reduce = ReduceOp::kSum);

// One collective at a time: kUsage where another one holds `collective`; does not wait.
Result<std::unique_lock<std::mutex>> EnterAlone(Operation operation, std::mutex& collective);

// Whether calls may go on at all. Error: what broke the communicator, which the group's failure does now.
Status CheckUsable(FirstError& broken, const Group& group);

}  // namespace muster
