// From a Group to a Communicator: chooses the backend and builds it. The top of comm/.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/options.h"
#include "comm/rendezvous/group.h"
#include "comm/socket/endpoint.h"

namespace muster {

// nccl or socket; never auto. Error: kConfiguration where the configured backend cannot be had here.
Result<Backend> ChooseBackend(Backend configured);

// Makes `endpoint`'s addresses known to all ranks over the control plane, then builds the communicator.
// BLOCKS until every rank of the group has got here, at most timeouts.init. `group` must outlive the
// communicator.
Result<std::unique_ptr<Communicator>> BuildCommunicator(Group& group,
                                                        std::unique_ptr<SocketEndpoint> endpoint,
                                                        const TimeoutOptions& timeouts);

// The same where every rank brought endpoint->payload() to the rendezvous: the roster has it all, and nobody
// is asked or waited for again. Error: kDisagreement, names a rank that brought something else.
Result<std::unique_ptr<Communicator>> BuildCommunicatorFromRoster(Group& group,
                                                                  std::unique_ptr<SocketEndpoint> endpoint,
                                                                  const TimeoutOptions& timeouts);

// Nothing is opened, nothing blocks.
std::unique_ptr<Communicator> BuildCommunicatorOfOne(const Group& group);

}  // namespace muster
