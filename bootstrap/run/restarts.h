// `--max-restarts`: the whole group again after a failure, on the same nodes.
#pragma once

#include <functional>

#include "bootstrap/run/supervisor.h"
#include "comm/base/error.h"
#include "comm/rendezvous/join/join_request.h"

namespace muster::run {

// The request of the group that comes after `restarts` failed ones: whoever is still busy with an earlier one
// neither finds it nor fits into it. `most` is something all must agree on.
void CountRestarts(int restarts, int most, rendezvous::JoinRequest& request);

// Supervises what `plan` gives, again while programs fail, at most `most` times more. Every supervisor of the
// group decides alike: by the one failure that all were told. A lost node or supervisor, and being told to
// end, are final. The exit status is that of the last attempt. BLOCKS until all is over. Error: that of
// `plan`, or before anything was started.
Result<int> RunWithRestarts(int most, const std::function<Result<SupervisorPlan>(int restarts)>& plan);

}  // namespace muster::run
