// Asks the PMIx server of this process what the environment does not say: the size of its launch, and its
// place on the node.
#pragma once

#include <functional>
#include <memory>

#include "comm/base/deadline.h"
#include "comm/pmix_place.h"
#include "comm/rendezvous/pmi/pmix_api.h"

namespace muster::rendezvous {

// Connects, asks and ends the connection. BLOCKS until the deadline at most; a call that does not come back
// is left behind on a thread of its own. Error: kConfiguration where there is no library or no server,
// kDeadline.
Result<PmixPlace> AskPmixServer(Deadline deadline,
                                std::function<Result<std::shared_ptr<PmixApi>>()> load = LoadPmix);

}  // namespace muster::rendezvous
