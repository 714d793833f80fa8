// The Prover that rendezvous.auth means on this node.
#pragma once

#include <memory>

#include "comm/auth/proof.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/system/blocking_worker.h"

namespace muster::rendezvous {

// `worker` must outlive the prover. Error: kAuthentication with advice, if no method is usable.
Result<std::unique_ptr<auth::Prover>> ChooseProver(const JoinRequest& request, BlockingWorker& worker);

}  // namespace muster::rendezvous
