#include "comm/rendezvous/join/join_request.h"

#include "comm/rendezvous/discovery/file_endpoint_store.h"
#include "comm/rendezvous/discovery/kvs_endpoint_store.h"
#include "comm/rendezvous/discovery/torch_endpoint_store.h"
#include "comm/rendezvous/link/names.h"
#include "comm/rendezvous/pmi/pmi_kvs.h"
#include "comm/rendezvous/pmi/pmix_kvs.h"

namespace muster::rendezvous {

std::shared_ptr<LauncherKvs> OpenLauncherKvs(const Meeting& meeting) {
  if (meeting.find_root != FindRoot::kEndpointStore) return nullptr;
  if (meeting.pmi) return std::make_shared<PmiKvs>(*meeting.pmi);
  if (meeting.pmix) return std::make_shared<PmixKvs>();
  return nullptr;
}

std::unique_ptr<EndpointStore> OpenEndpointStore(const JoinRequest& request) {
  const Meeting& meeting = request.meeting;
  if (request.kvs) return std::make_unique<KvsEndpointStore>(request.kvs, EndpointTopic(meeting.key));
  if (meeting.directory) {
    return std::make_unique<FileEndpointStore>(*meeting.directory, EndpointStoreFile(meeting.key));
  }
  return std::make_unique<TorchEndpointStore>(meeting.torch_store.value_or(Endpoint{}),
                                              EndpointTopic(meeting.key));
}

}  // namespace muster::rendezvous
