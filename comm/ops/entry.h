// The beginning of a call on a communicator: the steps common to both backends.
#pragma once

#include <mutex>
#include <string_view>

#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/group/group.h"
#include "comm/ops/call.h"
#include "comm/ops/first_error.h"

namespace muster {

// Everything of a Call but its communicator and sequence.
Call CallOf(Operation operation, const ConstBuffer& elements = {}, int root = -1,
            ReduceOp reduce = ReduceOp::kSum);

// One collective at a time: kUsage if another one holds `collective`; does not wait.
Result<std::unique_lock<std::mutex>> EnterAlone(Operation operation, std::mutex& collective);

// After a communicator was closed: kUsage.
tl::unexpected<Error> Closed(std::string_view call);

// Whether calls may go on at all. Error: the error that broke the communicator, or the group's failure.
Status CheckUsable(FirstError& broken, const Group& group);

}  // namespace muster
