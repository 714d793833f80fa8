// A LauncherKvs as an endpoint store: its one entry is the encoded root address, with commas for blanks.
#pragma once

#include <memory>
#include <string>

#include "comm/rendezvous/discovery/endpoint_store.h"
#include "comm/rendezvous/pmi/launcher_kvs.h"

namespace muster::rendezvous {

class KvsEndpointStore : public EndpointStore {
 public:
  KvsEndpointStore(std::shared_ptr<LauncherKvs> kvs, std::string name);

  // If the encoded root address is too long for a launcher (a node with a dozen addresses), its last
  // addresses are omitted.
  Status Publish(std::string_view root_address, Deadline deadline) override;
  Result<std::optional<std::string>> LookUp(Deadline deadline) override;
  std::string Describe() const override;

 private:
  std::shared_ptr<LauncherKvs> kvs_;
  std::string name_;
};

}  // namespace muster::rendezvous
