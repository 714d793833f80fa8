// The endpoint store that a meeting selects: a store, a file, or the launcher's key-value store.
#pragma once

#include <memory>

#include "comm/meeting.h"
#include "comm/rendezvous/discovery/endpoint_store.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/pmi/launcher_kvs.h"

namespace muster::rendezvous {

// The launcher's, if the ranks meet on it; else null. At most one of a process at a time. Does not block.
std::shared_ptr<LauncherKvs> OpenLauncherKvs(const Meeting& meeting);

// The one that request.meeting names (FindRoot::kEndpointStore). Does no I/O before its first call.
std::unique_ptr<EndpointStore> OpenEndpointStore(const JoinRequest& request);

}  // namespace muster::rendezvous
