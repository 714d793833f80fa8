// A TCPStore as an endpoint store: the one that torchrun's agent serves (2.2 and later), or any other.
//
// Uses one key, under a prefix that PyTorch never uses. Protocol: tcp_store/README.md.
#pragma once

#include "comm/address.h"
#include "comm/base/deadline.h"
#include "comm/rendezvous/discovery/endpoint_store.h"
#include "comm/rendezvous/tcp_store/client.h"

namespace muster::rendezvous {

class TorchEndpointStore : public EndpointStore {
 public:
  // A listener that is no store after `patience` and a few attempts will never be one: kConfiguration.
  TorchEndpointStore(Endpoint store, std::string key, Duration patience = std::chrono::seconds(2));

  Status Publish(std::string_view root_address, Deadline deadline) override;
  Result<std::optional<std::string>> LookUp(Deadline deadline) override;
  std::string Describe() const override;

 private:
  Status Connect(Deadline deadline);
  Error Judge(Error error);

  Endpoint endpoint_;
  std::string key_;
  std::unique_ptr<tcp_store::Client> client_;
  const Duration patience_;
  int silences_ = 0;  // in a row
  Clock::time_point silent_since_;
};

}  // namespace muster::rendezvous
