#include "comm/rendezvous/root_search.h"

#include <algorithm>

#include "comm/net/hosts.h"

namespace muster {
namespace {

constexpr Duration kLookUpAgain = std::chrono::seconds(1);

std::vector<SocketAddress> Candidates(std::vector<SocketAddress> addresses,
                                      const std::vector<uint16_t>& ports) {
  // A name that means another node here must not lead back to this one (127.0.1.1 in /etc/hosts).
  const auto is_loopback = [](const SocketAddress& address) { return address.IsLoopback(); };
  if (!std::ranges::all_of(addresses, is_loopback)) std::erase_if(addresses, is_loopback);
  std::vector<SocketAddress> candidates;
  for (const uint16_t port : ports) {
    for (SocketAddress address : addresses) {
      address.set_port(port);
      candidates.push_back(address);
    }
  }
  return candidates;
}

}  // namespace

RootSearch::RootSearch(EventLoop& loop, Where where, RootDialer::Params params, Prover& prover,
                       RootDialer::OnLink on_link, RootDialer::OnRejected on_rejected)
    : loop_(loop),
      where_(std::move(where)),
      names_(loop.mailbox()),
      dialer_(loop, params, prover, std::move(on_link), std::move(on_rejected)) {
  for (const std::string& host : where_.hosts) LookUp(host);
}

void RootSearch::LookUp(const std::string& host) {
  using Found = Result<std::vector<SocketAddress>>;
  const auto found = std::make_shared<Found>();
  names_.Run([found, host] { *found = ResolveHost(host, 0); },
             [this, found, host] {
               if (*found) return dialer_.AddCandidates(Candidates(**found, where_.ports));
               name_problem_ = found->error().message;
               loop_.After(kLookUpAgain, [this, host, alive = std::weak_ptr<bool>(alive_)] {
                 if (!alive.expired()) LookUp(host);
               });
             });
}

std::string RootSearch::Problem() const {
  std::string problem = dialer_.Problem();
  return problem.empty() ? name_problem_ : problem;
}

}  // namespace muster
