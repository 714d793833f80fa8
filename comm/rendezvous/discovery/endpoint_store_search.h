// From "the root says on an endpoint store where it is" to a proven connection: looks there again and again, keeps a
// RootDialer busy with what the newest root address says, and begins anew where another root address is put up, because
// the first may have been that of a root that is gone.
//
// Lives on one EventLoop; the endpoint store is asked on a thread of its own, which may be left behind. Never gives
// up by itself but where trying again is of no use: its owner has the deadline.
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

  // One look is given up after params.handshake_timeout.
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
  std::shared_ptr<EndpointStore> endpoint_store_;  // shared with a look that is left behind
  RootDialer::Params params_;
  MakeProver make_prover_;
  RootDialer::OnLink on_link_;
  RootDialer::OnRejected on_rejected_;
  net::ThreadWorker worker_;
  net::EventLoop::TimerId timer_ = 0;
  Duration pause_;
  std::string newest_;
  std::string problem_;
  std::shared_ptr<auth::Prover> prover_;
  std::unique_ptr<RootDialer> dialer_;
};

}  // namespace muster::rendezvous
