// `--max-restarts`: the whole group again after a failure, on the same nodes.
#pragma once

#include <functional>

#include "bootstrap/run/supervisor.h"
#include "comm/base/error.h"
#include "comm/rendezvous/join/join_request.h"

namespace muster::run {

// The request of the group that comes after `restarts` failed ones: a process still in an earlier one neither
// finds it nor fits into it. All ranks must agree on `most`.
void CountRestarts(int restarts, int most, rendezvous::JoinRequest& request);

// Supervises the programs of `plan`, again while programs fail, at most `most` times more. Every supervisor
// of the group decides alike: by the one failure that all received. A lost node or supervisor, and a request
// to end, are final. The exit status is that of the last attempt. BLOCKS until all is over. Error: that of
// `plan`, or before anything was started.
Result<int> RunWithRestarts(int most, const std::function<Result<SupervisorPlan>(int restarts)>& plan);

}  // namespace muster::run
