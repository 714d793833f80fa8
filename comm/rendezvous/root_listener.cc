#include "comm/rendezvous/root_listener.h"

#include <algorithm>

#include "comm/base/log.h"
#include "comm/net/hosts.h"
#include "comm/rendezvous/agreement.h"
#include "comm/rendezvous/names.h"

namespace muster {
namespace {

constexpr Duration kBindAgain = std::chrono::milliseconds(200);

std::string ListenHost(const JoinRequest& request) {
  switch (request.meeting.find_root) {
    case FindRoot::kHost:
      return request.meeting.host;
    case FindRoot::kEndpoint:
      return request.meeting.endpoint->host;
    default:
      return request.self.node;
  }
}

}  // namespace

RootListener::RootListener(EventLoop& loop, const JoinRequest& request, Prover& prover,
                           RootDoor::OnLink on_link, OnMisplaced on_misplaced)
    : loop_(loop),
      request_(request),
      door_(loop,
            RootDoor::Params{.meeting = MeetingIdOf(request.meeting.key),
                             .handshake_timeout = request.timeouts.handshake,
                             .self = DescribeParty(request.self)},
            prover, std::move(on_link)),
      on_misplaced_(std::move(on_misplaced)),
      names_(loop.mailbox()) {}

RootListener::~RootListener() { Close(); }

void RootListener::Start() {
  const auto found = std::make_shared<Addresses>();
  const std::string host = ListenHost(request_);
  const FindRoot how = request_.meeting.find_root;
  const bool must_be_local = how == FindRoot::kHost || how == FindRoot::kEndpoint;
  names_.Run([found, host, must_be_local] { *found = FindAddresses(host, must_be_local); },
             [this, found] { OnAddresses(*found); });
}

void RootListener::Close() {
  closed_ = true;
  loop_.Cancel(bind_timer_);
  door_.Close();
}

// BLOCKS: runs on the worker.
RootListener::Addresses RootListener::FindAddresses(const std::string& host, bool must_be_local) {
  Addresses result;
  const Result<std::vector<SocketAddress>> named = ResolveHost(host, 0);
  const Result<std::vector<LocalInterface>> interfaces = LocalInterfaces();
  if (!interfaces) return {{}, interfaces.error().message};
  for (const SocketAddress& address : named.value_or(std::vector<SocketAddress>{})) {
    const bool local = std::ranges::any_of(*interfaces, [&](const LocalInterface& interface) {
      return interface.address.Host() == address.Host();
    });
    if (local || address.IsLoopback()) result.listen.push_back(address);
  }
  if (must_be_local) {
    if (!named) result.problem = named.error().message;
    if (named && result.listen.empty()) {
      result.problem =
          fmt::format("{} is {}, which is not an address of this node", host, named->front().Host());
    }
    return result;
  }
  // The node's own name may mean loopback alone, or nothing at all: then everything listens, behind the
  // hello.
  std::erase_if(result.listen, [](const SocketAddress& address) { return address.IsLoopback(); });
  if (result.listen.empty()) result.listen = {SocketAddress::AnyIpv6(0)};
  return result;
}

void RootListener::OnAddresses(const Addresses& addresses) {
  if (closed_) return;
  if (addresses.problem.empty()) return TryToBind(addresses.listen);
  on_misplaced_({Code::kConfiguration,
                 fmt::format("rank 0 runs on {} and must be reached there, but {}", request_.self.node,
                             addresses.problem),
                 "set MASTER_ADDR or rendezvous.endpoint to the node of rank 0"});
}

void RootListener::TryToBind(const std::vector<SocketAddress>& addresses) {
  const std::vector<uint16_t> ports = request_.meeting.find_root == FindRoot::kEndpoint
                                          ? std::vector<uint16_t>{request_.meeting.endpoint->port}
                                          : PortLadder(request_.meeting.key, request_.options.ports);
  Result<uint16_t> port = door_.Open(addresses, ports);
  // A kernel without IPv6.
  if (!port && addresses.front() == SocketAddress::AnyIpv6(0)) {
    if (Result<uint16_t> ipv4 = door_.Open({SocketAddress::AnyIpv4(0)}, ports)) port = ipv4;
  }
  if (port) {
    bind_problem_.clear();
    return LogDebug("the root listens on port {}", *port);
  }
  if (bind_problem_.empty()) LogWarning("{}; waiting for one to become free", port.error().message);
  bind_problem_ = port.error().message;
  bind_timer_ = loop_.After(kBindAgain, [this, addresses] { TryToBind(addresses); });
}

std::string RootListener::Problem() const {
  if (!bind_problem_.empty()) return bind_problem_;
  return door_.last_refusal().empty() ? "" : "turned away: " + door_.last_refusal();
}

}  // namespace muster
