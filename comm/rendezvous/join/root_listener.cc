#include "comm/rendezvous/join/root_listener.h"

#include <algorithm>
#include <array>
#include <utility>

#include "comm/auth/crypto.h"
#include "comm/base/bytes.h"
#include "comm/log/log.h"
#include "comm/loopback_name.h"
#include "comm/net/hosts.h"
#include "comm/rendezvous/link/names.h"
#include "comm/rendezvous/roster/agreement.h"

namespace muster::rendezvous {
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

// By a name that is loopback on every node.
bool IsLoopbackEndpoint(const JoinRequest& request) {
  return request.meeting.find_root == FindRoot::kEndpoint && IsLoopbackName(request.meeting.endpoint->host);
}

// The meeting names a host on which the root must be.
bool NamesTheHost(const JoinRequest& request) {
  return request.meeting.find_root == FindRoot::kHost || request.meeting.find_root == FindRoot::kEndpoint;
}

net::SocketAddress ListenAddress(const JoinRequest& request) {
  if (IsLoopbackEndpoint(request)) return *net::SocketAddress::FromNumeric("127.0.0.1", 0);
  const auto numeric = net::SocketAddress::FromNumeric(ListenHost(request), 0);
  const bool exact = NamesTheHost(request) && numeric &&
                     (!numeric->IsLoopback() || request.meeting.find_root == FindRoot::kEndpoint);
  return exact ? *numeric : net::SocketAddress::AnyIpv6(0);
}

Ladder LadderOf(std::string seed, const JoinRequest& request) {
  return [seed = std::move(seed), ports = request.options.ports, others = request.meeting.ports_of_others](
             size_t most) { return PortLadder(seed, ports, others, most); };
}

}  // namespace

std::vector<Ladder> RootLadders(const JoinRequest& request) {
  const Meeting& meeting = request.meeting;
  if (meeting.find_root == FindRoot::kEndpoint && meeting.endpoint->port != 0)
    return {[port = meeting.endpoint->port](size_t) { return std::vector<uint16_t>{port}; }};
  std::vector<Ladder> ladders;
  for (std::string& seed : LadderSeeds(meeting.key, request.secret))
    ladders.push_back(LadderOf(std::move(seed), request));
  return ladders;
}

RootListener::RootListener(net::EventLoop& loop, const JoinRequest& request, auth::Prover& prover,
                           AuthenticatingAcceptor::OnLink on_link, OnMisplaced on_misplaced,
                           Duration look_up_again)
    : loop_(loop),
      request_(request),
      method_(prover.method()),
      listener_(loop,
                AuthenticatingAcceptor::Params{.meeting = auth::MeetingIdOf(request.meeting.key),
                                               .handshake_timeout = request.timeouts.handshake,
                                               .self = DescribeProcess(request.self)},
                prover,
                [this, on_link = std::move(on_link)](std::unique_ptr<net::FrameStream> link,
                                                     const net::SocketAddress& peer) {
                  found_ = true;
                  on_link(std::move(link), peer);
                }),
      on_misplaced_(std::move(on_misplaced)),
      look_up_again_(look_up_again),
      names_(loop.mailbox()),
      host_(ListenHost(request)),
      listen_(ListenAddress(request)) {}

RootListener::~RootListener() { Close(); }

void RootListener::Start() {
  const bool published = request_.meeting.find_root == FindRoot::kEndpointStore;
  const bool loopback = IsLoopbackEndpoint(request_);
  if ((listen_ == net::SocketAddress::AnyIpv6(0) && !published) || loopback) TryToBind();
  if (published || (NamesTheHost(request_) && !loopback)) LookUp();
}

void RootListener::LookUp() {
  const auto name = std::make_shared<OwnName>();
  names_.Run([name, host = host_] { *name = LookUpName(host); }, [this, name] { OnName(*name); });
}

void RootListener::Close() {
  closed_ = true;
  bind_timer_.Cancel();
  name_timer_.Cancel();
  if (announcer_) announcer_->Withdraw();
  listener_.Close();
}

// BLOCKS: runs on the worker.
RootListener::OwnName RootListener::LookUpName(const std::string& host) {
  OwnName name;
  const Result<std::vector<net::SocketAddress>> named = net::ResolveHost(host, 0);
  const Result<std::vector<net::LocalInterface>> interfaces = net::LocalInterfaces();
  if (!named) name.unresolved = named.error().message;
  if (!interfaces) name.unresolved = interfaces.error().message;
  if (!named || !interfaces) return name;
  for (const net::SocketAddress& address : *named) {
    const bool local = std::ranges::any_of(*interfaces, [&](const net::LocalInterface& interface) {
      return interface.address.Host() == address.Host();
    });
    if (local || address.IsLoopback()) name.here.push_back(address);
  }
  if (name.here.empty())
    name.elsewhere =
        fmt::format("{} is {}, which is not an address of that node", host, named->front().Host());
  return name;
}

void RootListener::OnName(const OwnName& name) {
  if (closed_) return;
  by_name_ = name.here;
  std::erase_if(by_name_, [](const net::SocketAddress& address) { return address.IsLoopback(); });
  if (!NamesTheHost(request_)) return TryToBind();
  name_problem_ = name.unresolved;
  if (!name.elsewhere.empty()) {
    // The address is a virtual one that leads here.
    if (found_) return;
    // The record of a pod that was restarted is stale for a while.
    const bool everywhere = listen_ == net::SocketAddress::AnyIpv6(0);
    if (everywhere && !std::exchange(elsewhere_before_, true)) {
      name_timer_ = loop_.After(look_up_again_, [this] { LookUp(); });
      return;
    }
    return on_misplaced_({Code::kConfiguration,
                          fmt::format("rank 0 runs on {} and must be reached there, but {}",
                                      request_.self.node, name.elsewhere),
                          "set MASTER_ADDR or rendezvous.endpoint to the node of rank 0"});
  }
  // The name of a pod is published seconds after its start.
  if (!name_problem_.empty()) {
    name_timer_ = loop_.After(look_up_again_, [this] { LookUp(); });
  } else if (listen_ != net::SocketAddress::AnyIpv6(0)) {
    TryToBind();
  }
}

void RootListener::TryToBind() {
  const auto began = Clock::now();
  const std::vector<Ladder> ladders = LaddersToTry();
  bool forbidden = false;
  const Result<uint16_t> port = OpenOneOf(ladders.front(), &forbidden);
  if (port) {
    bind_problem_.clear();
    ReportPort(*port, ladders.front());
    if (request_.meeting.find_root == FindRoot::kEndpointStore) Announce(*port);
    // For ranks without this secret, which receive the reason here: no member of the group depends on it.
    for (size_t i = 1; i < ladders.size(); ++i) {
      if (const auto other = OpenOneOf(ladders[i]); !other) LogDebug("{}", other.error().message);
    }
    return;
  }
  if (forbidden) {
    // Not here: Start may be the caller.
    bind_timer_ = loop_.After(Duration::zero(), [this, error = port.error()] { on_misplaced_(error); });
    return;
  }
  if (bind_problem_.empty()) {
    LogEvent(LogLevel::kWarning, "no_port", {}, "{}; waiting for one to become free", port.error().message);
  }
  bind_problem_ = port.error().message;
  // Trying thousands of ports takes a while.
  const Duration pause = std::max<Duration>(kBindAgain, 10 * (Clock::now() - began));
  bind_timer_ = loop_.After(pause, [this] { TryToBind(); });
}

Result<uint16_t> RootListener::OpenOneOf(const Ladder& ladder, bool* forbidden) {
  Result<uint16_t> port = Open(ladder(kLadderLength));
  return port ? port : Open(ladder(kWholeLadder), forbidden);
}

Result<uint16_t> RootListener::Open(const std::vector<uint16_t>& ports, bool* forbidden) {
  Result<uint16_t> port = listener_.Open(listen_, ports, forbidden);
  // A kernel without IPv6.
  if (!port && listen_ == net::SocketAddress::AnyIpv6(0)) {
    Result<uint16_t> ipv4 = listener_.Open(net::SocketAddress::AnyIpv4(0), ports, forbidden);
    if (ipv4 || (forbidden != nullptr && *forbidden)) port = std::move(ipv4);
  }
  // Other ranks may try ::1 alone.
  if (port && IsLoopbackEndpoint(request_)) {
    if (const auto ipv6 = listener_.Open(*net::SocketAddress::FromNumeric("::1", 0), {*port}); !ipv6)
      LogDebug("{}", ipv6.error().message);
  }
  return port;
}

void RootListener::ReportPort(uint16_t port, const Ladder& ladder) const {
  if (std::ranges::count(ladder(kLadderLength), port) == 0) {
    const std::vector<uint16_t> ports = ladder(kWholeLadder);
    const auto tried = static_cast<size_t>(std::ranges::find(ports, port) - ports.begin());
    LogEvent(LogLevel::kWarning, "no_port", {{"port", port}, {"taken", tried}},
             "the first {} ports of this launch are taken; listening on port {}", tried, port);
  }
  LogEvent(LogLevel::kDebug, "listening", {{"port", port}}, "listening on port {}", port);
}

// The first counts.
std::vector<Ladder> RootListener::LaddersToTry() const {
  if (request_.meeting.find_root == FindRoot::kEndpointStore) {
    // Other ports than the last time: a rank with the address and secret of the previous group's root must
    // find no listener, rather than be rejected.
    std::array<uint8_t, 16> random{};
    auth::RandomBytes(random);
    return {LadderOf(std::string(AsText(random)), request_)};
  }
  return RootLadders(request_);
}

void RootListener::Announce(uint16_t port) {
  std::vector<net::SocketAddress> addresses = by_name_.empty() ? AllAddresses() : by_name_;
  for (net::SocketAddress& address : addresses) address.set_port(port);
  RootAddress root_address{std::move(addresses), std::nullopt};
  // A secret that the user has set is not published.
  if (method_ == AuthMethod::kSecret && !request_.secret) root_address.secret = request_.root_address_secret;
  announcer_ =
      std::make_unique<RootAnnouncer>(loop_, OpenEndpointStore(request_), request_.timeouts.handshake,
                                      [this](const Error& error) { on_misplaced_(error); });
  announcer_->Announce(root_address);
}

// Used if the node's name gives no address. Loopback without any other: then all ranks are on this node.
std::vector<net::SocketAddress> RootListener::AllAddresses() const {
  std::vector<net::SocketAddress> usable;
  std::vector<net::SocketAddress> loopback;
  for (const net::LocalInterface& interface :
       net::LocalInterfaces().value_or(std::vector<net::LocalInterface>{})) {
    if (interface.address.IsLoopback()) loopback.push_back(interface.address);
    if (interface.address.IsLinkLocal() || net::IsNodeLocalInterface(interface.name)) continue;
    const auto& pattern = request_.options.interface;
    if (!pattern || net::MatchesInterface(interface, *pattern)) usable.push_back(interface.address);
  }
  return usable.empty() ? loopback : usable;
}

std::string RootListener::Problem() const {
  if (!bind_problem_.empty()) return bind_problem_;
  if (!name_problem_.empty()) return name_problem_;
  if (announcer_ && !announcer_->Problem().empty()) return announcer_->Problem();
  return listener_.last_refusal().empty() ? "" : "rejected: " + listener_.last_refusal();
}

}  // namespace muster::rendezvous
