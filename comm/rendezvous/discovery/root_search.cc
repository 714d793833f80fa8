#include "comm/rendezvous/discovery/root_search.h"

#include <algorithm>
#include <utility>

#include "comm/base/lists.h"
#include "comm/net/hosts.h"
#include "comm/system/system_calls.h"

namespace muster::rendezvous {
namespace {

// A running root is found long before.
constexpr Duration kLaterPorts = std::chrono::seconds(1);
constexpr Duration kAfterFailure = std::chrono::seconds(1);
// Bytes, in a message.
constexpr size_t kLongestNames = 256;
// One server answers all: fifty queries a second are no load for it.
constexpr Duration kQueriesApart = std::chrono::milliseconds(20);

Duration Stagger(size_t crowd) {
  const auto part = static_cast<Duration::rep>(RandomNumber() % 65536);
  return kQueriesApart * static_cast<Duration::rep>(crowd) * part / 65536;
}

bool LeadsHere(const std::vector<net::SocketAddress>& addresses) {
  return std::ranges::all_of(addresses,
                             [](const net::SocketAddress& address) { return address.IsLoopback(); });
}

// BLOCKS as reading the interfaces does: runs on the worker.
bool IsOwn(const std::vector<net::SocketAddress>& addresses) {
  const Result<std::vector<net::LocalInterface>> interfaces = net::LocalInterfaces();
  return interfaces && std::ranges::any_of(*interfaces, [&](const net::LocalInterface& interface) {
           return std::ranges::any_of(addresses, [&](const net::SocketAddress& address) {
             return address.Host() == interface.address.Host();
           });
         });
}

// A name that means another node here must not lead back to this one (127.0.1.1 in /etc/hosts).
std::vector<net::SocketAddress> WithoutLoopback(std::vector<net::SocketAddress> addresses) {
  const auto is_loopback = [](const net::SocketAddress& address) { return address.IsLoopback(); };
  if (!std::ranges::all_of(addresses, is_loopback)) std::erase_if(addresses, is_loopback);
  return addresses;
}

RootDialer::Params WithLeaders(RootDialer::Params params, size_t leaders) {
  params.leaders = leaders;
  return params;
}

std::vector<net::SocketAddress> Candidates(const std::vector<net::SocketAddress>& addresses,
                                           const std::vector<uint16_t>& ports) {
  std::vector<net::SocketAddress> candidates;
  for (const uint16_t port : ports) {
    for (net::SocketAddress address : addresses) {
      address.set_port(port);
      candidates.push_back(address);
    }
  }
  return candidates;
}

}  // namespace

RootSearch::RootSearch(net::EventLoop& loop, Where where, RootDialer::Params params, auth::Prover& prover,
                       RootDialer::OnLink on_link, RootDialer::OnRejected on_rejected)
    : loop_(loop),
      where_(std::move(where)),
      names_(loop.mailbox()),
      elsewhere_(loop.mailbox()),
      dialer_(loop, WithLeaders(params, where_.crowd), prover, std::move(on_link), std::move(on_rejected)) {
  unanswered_ = where_.hosts;
  for (const std::string& host : where_.hosts) LookUp(host);
  if (!where_.further_ports) return;
  RootDialer::Further further;
  further.count = [this] {
    if (!further_ports_) further_ports_ = where_.further_ports();
    return further_ports_->size() * addresses_.size();
  };
  further.at = [this](size_t index) {
    net::SocketAddress address = addresses_[index % addresses_.size()];
    address.set_port(further_ports_->at(index / addresses_.size()));
    return address;
  };
  dialer_.SetFurther(std::move(further));
}

void RootSearch::OnAddresses(std::vector<net::SocketAddress> addresses) {
  addresses = WithoutLoopback(std::move(addresses));
  std::erase_if(addresses, [this](const auto& a) { return std::ranges::count(addresses_, a) > 0; });
  if (addresses.empty()) return;
  addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
  dialer_.AddCandidates(Candidates(addresses, where_.ports));
  if (where_.later_ports.empty()) return;
  After(kLaterPorts, [this, addresses = std::move(addresses)] {
    dialer_.AddCandidates(Candidates(addresses, where_.later_ports));
  });
}

void RootSearch::LookUp(const std::string& host) {
  struct Found {
    Result<std::vector<net::SocketAddress>> addresses;
    bool own = false;
  };
  const auto found = std::make_shared<Found>();
  const bool ask = where_.on_own_host != nullptr;
  names_.Run(
      [found, host, ask] {
        found->addresses = net::ResolveHost(host, 0);
        found->own = ask && found->addresses && IsOwn(*found->addresses);
      },
      [this, found, host] {
        std::erase(unanswered_, host);
        if (found->addresses) {
          name_problem_.clear();
          OnAddresses(*found->addresses);
          if (LeadsHere(*found->addresses)) LookElsewhere(host);
          After(PauseAfterAnAnswer(where_), [this, host] { LookUp(host); });
          if (found->own && where_.on_own_host) std::exchange(where_.on_own_host, nullptr)();
          return;
        }
        name_problem_ = found->addresses.error().message;
        LookElsewhere(host);
        After(kAfterFailure, [this, host] { LookUp(host); });
      });
}

Duration PauseAfterAnAnswer(const RootSearch::Where& where) {
  const size_t queries = where.crowd * where.hosts.size();
  return std::max(where.look_up_again, kQueriesApart * static_cast<Duration::rep>(queries)) +
         Stagger(queries);
}

void RootSearch::After(Duration pause, std::function<void()> step) {
  loop_.After(pause, [step = std::move(step), alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) step();
  });
}

// Delayed: after a short outage the name service is up again by then.
void RootSearch::LookElsewhere(const std::string& host) {
  if (!where_.elsewhere || !std::exchange(sought_elsewhere_[host].due, false)) return;
  After(kAfterFailure + Stagger(where_.crowd), [this, host] {
    const auto found = std::make_shared<std::vector<net::SocketAddress>>();
    elsewhere_.Run([found, host, elsewhere = where_.elsewhere] { *found = elsewhere(host); },
                   [this, found, host] {
                     if (!found->empty()) return OnAddresses(*found);
                     Elsewhere& sought = sought_elsewhere_[host];
                     sought.pause = std::max(2 * sought.pause, where_.elsewhere_again);
                     After(sought.pause, [&sought] { sought.due = true; });
                   });
  });
}

std::string RootSearch::Problem() const {
  std::string problem = dialer_.Problem();
  if (problem.empty()) problem = name_problem_;
  if (!problem.empty() || unanswered_.empty()) return problem;
  const bool one = unanswered_.size() == 1;
  return fmt::format("the name{} {} {} still being resolved", one ? "" : "s",
                     FormatSomeNodes(unanswered_, kLongestNames), one ? "is" : "are");
}

}  // namespace muster::rendezvous
