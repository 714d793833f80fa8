// What the PMIx server says of this process: its rank, the size of its launch, and what else it knows.
#pragma once

#include <functional>
#include <memory>

#include "comm/base/deadline.h"
#include "comm/rendezvous/pmix_api.h"

namespace muster {

// Connects, asks and ends the connection. BLOCKS until the deadline at most; a call that does not come back
// is left behind. Error: kConfiguration where there is no library or no server, kDeadline.
Result<PmixApi::Place> AskPmixPlace(Deadline deadline,
                                    std::function<Result<std::shared_ptr<PmixApi>>()> load = LoadPmix);

}  // namespace muster
