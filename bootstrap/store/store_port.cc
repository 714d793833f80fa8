#include "bootstrap/store/store_port.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "comm/net/hosts.h"
#include "comm/net/socket.h"
#include "comm/system/system_calls.h"

namespace muster::store {
namespace {

constexpr int kTries = 64;
// A node that balances load for a whole cluster has thousands; the first are those of its cards.
constexpr size_t kMostAddresses = 64;

Result<std::vector<net::SocketAddress>> AddressesHere(bool only_this_node) {
  std::vector<net::SocketAddress> addresses = {*net::SocketAddress::FromNumeric(net::LoopbackHost(), 0)};
  if (only_this_node) return addresses;
  MUSTER_TRY(const auto interfaces, net::LocalInterfaces());
  for (const net::LocalInterface& interface : interfaces) {
    const bool known = std::ranges::find(addresses, interface.address) != addresses.end();
    if (known || interface.address.IsLoopback() || interface.address.IsLinkLocal()) continue;
    if (addresses.size() < kMostAddresses) addresses.push_back(interface.address);
  }
  return addresses;
}

// All or none; an address that has just gone is left out.
Result<std::vector<UniqueFd>> ListenAt(const std::vector<net::SocketAddress>& addresses, uint16_t port) {
  std::vector<UniqueFd> listeners;
  for (net::SocketAddress address : addresses) {
    address.set_port(port);
    int error_number = 0;
    Result<UniqueFd> listener = net::Listen(address, &error_number);
    if (!listener && error_number == EADDRNOTAVAIL) continue;
    if (!listener) return tl::unexpected<Error>(std::move(listener).error());
    // The kernel's choice for the first address serves for all.
    port = net::LocalAddress(listener->get()).port();
    listeners.push_back(*std::move(listener));
  }
  if (!listeners.empty()) return listeners;
  return WithHint(
      Fail(Code::kSystem, "cannot serve the store: this node has no address, not even 127.0.0.1 or ::1"),
      "give its loopback interface one: ip addr add 127.0.0.1/8 dev lo");
}

bool IsFree(uint16_t port) {
  return net::Listen(net::SocketAddress::AnyIpv6(port)).has_value() ||
         net::Listen(net::SocketAddress::AnyIpv4(port)).has_value();
}

// The ports of a range in turn, from a random start: two jobs that start on a node together try different
// ones.
class Ports {
 public:
  Ports(PortRange ports, std::vector<uint16_t> but_not) : ports_(ports), but_not_(std::move(but_not)) {
    next_ = static_cast<int>(RandomNumber() % static_cast<uint64_t>(count()));
  }
  std::optional<uint16_t> Next() {
    while (tried_ < std::min(count(), kTries)) {
      const auto port = static_cast<uint16_t>(ports_.first + (next_ + tried_++) % count());
      if (std::ranges::find(but_not_, port) == but_not_.end()) return port;
    }
    return std::nullopt;
  }

 private:
  int count() const { return ports_.last - ports_.first + 1; }

  PortRange ports_;
  std::vector<uint16_t> but_not_;
  int next_ = 0;
  int tried_ = 0;
};

std::optional<uint16_t> FirstFree(Ports ports) {
  while (const auto port = ports.Next()) {
    if (IsFree(*port)) return port;
  }
  return std::nullopt;
}

// One of the range, as long as another one is free there. It is held for as long as the program runs: if
// stores took all ports of a narrow range, no group could form. If two stores take the last two ports at the
// same time, each finds that none is free, and gives its own back.
std::optional<std::vector<UniqueFd>> ListenIn(PortRange range, const std::vector<uint16_t>& but_not,
                                              const std::vector<net::SocketAddress>& addresses) {
  Ports ports(range, but_not);
  while (const auto port = ports.Next()) {
    auto listeners = ListenAt(addresses, *port);
    if (!listeners) continue;
    if (FirstFree(Ports(range, {*port}))) return *std::move(listeners);
    break;
  }
  return std::nullopt;
}

}  // namespace

Result<StorePort> StorePort::Hold(const Wish& wish) {
  MUSTER_TRY(const auto addresses, AddressesHere(wish.only_this_node));
  std::vector<uint16_t> never = wish.of_others;
  never.push_back(wish.but_not);
  std::vector<uint16_t> but_not = never;
  but_not.insert(but_not.end(), wish.rather_not.begin(), wish.rather_not.end());
  if (auto listeners = ListenIn(wish.ports, but_not, addresses)) return StorePort(*std::move(listeners));
  if (auto listeners = ListenIn(wish.ports, never, addresses)) return StorePort(*std::move(listeners));
  MUSTER_TRY(auto listeners, ListenAt(addresses, 0));
  if (std::ranges::count(never, net::LocalAddress(listeners.front().get()).port()) == 0)
    return StorePort(std::move(listeners));
  // The kernel does not choose it again while it is held.
  MUSTER_TRY(auto others, ListenAt(addresses, 0));
  return StorePort(std::move(others));
}

StorePort::StorePort(std::vector<UniqueFd> listeners)
    : listeners_(std::move(listeners)), port_(net::LocalAddress(listeners_.front().get()).port()) {}

Result<UniqueFd> StorePort::KeepOnly(const std::string& host) {
  std::vector<UniqueFd> held = std::exchange(listeners_, {});
  const auto found = std::ranges::find_if(
      held, [&](const UniqueFd& listener) { return net::LocalAddress(listener.get()).Host() == host; });
  UniqueFd kept;
  if (found != held.end()) {
    kept = std::move(*found);
  } else {
    const auto address = net::SocketAddress::FromNumeric(host, port_);
    if (!address) return Fail(Code::kSystem, "cannot serve the store at {}: not an address", host);
    MUSTER_TRY(kept, net::Listen(*address));
  }
  net::AllowSilence(kept.get());
  return kept;
}

Result<uint16_t> FreeProgramPort(PortRange ports, const std::vector<uint16_t>& of_others) {
  if (const auto port = FirstFree(Ports(ports, of_others))) return *port;
  Result<UniqueFd> listener = net::Listen(net::SocketAddress::AnyIpv6(0));
  if (!listener) listener = net::Listen(net::SocketAddress::AnyIpv4(0));
  if (!listener) return tl::unexpected<Error>(std::move(listener).error());
  return net::LocalAddress(listener->get()).port();
}

}  // namespace muster::store
