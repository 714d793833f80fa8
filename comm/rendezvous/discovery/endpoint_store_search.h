// From a root address in an endpoint store to a proven connection. Reads the store repeatedly and dials the
// newest root address. Starts again when another address appears: the first may be of a root that has ended.
//
// Runs on one EventLoop; the endpoint store is read on its own thread, which may be abandoned. Stops by
// itself only if a retry is useless: its owner has the deadline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/discovery/endpoint_store.h"
#include "comm/rendezvous/discovery/root_finder.h"
#include "comm/rendezvous/link/root_dialer.h"

namespace muster::rendezvous {

class EndpointStoreSearch : public RootFinder {
 public:
  // For the secret of a root address.
  using MakeProver =
      std::function<Result<std::unique_ptr<auth::Prover>>(const std::optional<auth::JobSecret>&)>;

  // One read times out after params.handshake_timeout.
  EndpointStoreSearch(net::EventLoop& loop, std::unique_ptr<EndpointStore> endpoint_store,
                      RootDialer::Params params, MakeProver make_prover, RootDialer::OnLink on_link,
                      RootDialer::OnRejected on_rejected);
  ~EndpointStoreSearch() override;

  std::string Problem() const override;
  std::optional<Error> rejection() const override;

 private:
  void Look();
  void OnLook(const Result<std::optional<std::string>>& found);
  void OnRootAddress(const std::string& text);
  void Dial(const RootAddress& root_address);
  void DropDialer();

  net::EventLoop& loop_;
  std::shared_ptr<EndpointStore> endpoint_store_;  // shared with an abandoned read
  RootDialer::Params params_;
  MakeProver make_prover_;
  RootDialer::OnLink on_link_;
  RootDialer::OnRejected on_rejected_;
  net::ThreadWorker worker_;
  net::Timer timer_;
  Duration pause_;
  std::string newest_;
  std::string problem_;
  std::shared_ptr<auth::Prover> prover_;
  std::unique_ptr<RootDialer> dialer_;
};

}  // namespace muster::rendezvous
