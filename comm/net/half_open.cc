#include "comm/net/half_open.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace muster::net {
namespace {

// "fd00:0:0:7::/64" of "fd00:0:0:7::1"; empty: no IPv6 address.
std::string NetworkOf(const std::string& address) {
  in6_addr ipv6{};
  const std::string without_scope = address.substr(0, address.find('%'));
  if (inet_pton(AF_INET6, without_scope.c_str(), &ipv6) != 1) return "";
  std::fill(std::begin(ipv6.s6_addr) + 8, std::end(ipv6.s6_addr), uint8_t{0});
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, &ipv6, text.data(), text.size());
  return std::string(text.data()) + "/64";
}

}  // namespace

std::string SourceOf(const SocketAddress& peer) { return peer.IsLoopback() ? "loopback" : peer.Host(); }

std::string HalfOpenTable::CountedAs(const std::string& address) const {
  if (addresses_.contains(address)) return address;
  std::string network = NetworkOf(address);
  const auto found = networks_.find(network);
  const bool many = found != networks_.end() && found->second >= std::max<size_t>(1, places_ / 4);
  return many ? network : address;
}

HalfOpenTable::Id HalfOpenTable::Add(const std::string& address, Clock::time_point now) {
  const Id id = next_++;
  const std::string counted = CountedAs(address);
  const auto [of, is_new] = addresses_.try_emplace(counted);
  if (is_new) {
    if (const std::string network = NetworkOf(counted); !network.empty()) ++networks_[network];
  }
  ++of->second.connections;
  of->second.fresh.emplace(now, id);
  all_.emplace(id, Entry{counted, now});
  if (full() && !std::exchange(busy_, true)) progress_ = now;
  return id;
}

void HalfOpenTable::Remove(Id id) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  const Entry& entry = found->second;
  const auto address = addresses_.find(entry.address);
  (address->second.*entry.queue).erase({entry.since, id});
  if (--address->second.connections == 0) {
    const auto network = networks_.find(NetworkOf(entry.address));
    if (network != networks_.end() && --network->second == 0) networks_.erase(network);
    addresses_.erase(address);
  }
  all_.erase(found);
  if (2 * size() < places_) busy_ = crowded_ = false;
}

void HalfOpenTable::Move(Id id, Queue Address::*queue, Clock::time_point since) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  Entry& entry = found->second;
  Address& address = addresses_.find(entry.address)->second;
  (address.*entry.queue).erase({entry.since, id});
  entry.queue = queue;
  entry.since = since;
  (address.*queue).emplace(entry.since, id);
}

// Ordered by id: for how long it has been active is of no account.
void HalfOpenTable::SetActive(Id id) { Move(id, &Address::active, {}); }

void HalfOpenTable::SetSilent(Id id, Clock::time_point now) { Move(id, &Address::silent, now); }

const HalfOpenTable::Address* HalfOpenTable::Freshest() const {
  const auto most =
      std::ranges::max_element(addresses_, {}, [](const auto& entry) { return entry.second.fresh.size(); });
  return most == addresses_.end() || most->second.fresh.empty() ? nullptr : &most->second;
}

const HalfOpenTable::Address* HalfOpenTable::Busiest() const {
  const auto most =
      std::ranges::max_element(addresses_, {}, [](const auto& entry) { return entry.second.connections; });
  return most == addresses_.end() || most->second.connections <= std::max(kFew, HalfShare()) ? nullptr
                                                                                             : &most->second;
}

size_t HalfOpenTable::HalfShare() const {
  return std::max<size_t>(1, places_ / (2 * std::max<size_t>(1, addresses_.size())));
}

namespace {

// The older front of two queues of one address; end() if both are empty.
template <typename Queue>
const typename Queue::value_type* OlderOf(const Queue& one, const Queue& other) {
  if (one.empty()) return other.empty() ? nullptr : &*other.begin();
  if (other.empty()) return &*one.begin();
  return &std::min(*one.begin(), *other.begin());
}

}  // namespace

std::optional<HalfOpenTable::Id> HalfOpenTable::Victim(Clock::time_point now) const {
  if (const Address* freshest = Freshest(); freshest != nullptr && freshest->fresh.size() > HalfShare())
    return freshest->fresh.begin()->second;
  std::optional<Id> victim;
  size_t most = 0;
  for (const auto& [name, address] : addresses_) {
    const auto* oldest = OlderOf(address.fresh, address.silent);
    const size_t count = address.fresh.size() + address.silent.size();
    if (oldest == nullptr || count <= most || now - oldest->first < kPatience) continue;
    most = count;
    victim = oldest->second;
  }
  return victim;
}

bool HalfOpenTable::Crowded(Clock::time_point now) {
  if (!full() || Busiest() == nullptr) return false;
  crowded_ = crowded_ || now - progress_ >= kShortPatience;
  return crowded_;
}

std::optional<HalfOpenTable::Id> HalfOpenTable::VictimFor(const std::string& address, Clock::time_point now) {
  if (const auto victim = Victim(now)) return victim;
  if (!Crowded(now)) return std::nullopt;
  const Address* busiest = Busiest();
  if (!busiest->silent.empty() && now - busiest->silent.begin()->first >= kShortPatience)
    return busiest->silent.begin()->second;
  const auto own = addresses_.find(CountedAs(address));
  if (own != addresses_.end() && own->second.connections + 1 >= busiest->connections) return std::nullopt;
  for (const Queue* queue : {&busiest->active, &busiest->silent, &busiest->fresh}) {
    if (!queue->empty()) return queue->rbegin()->second;
  }
  return std::nullopt;
}

std::optional<HalfOpenTable::Id> HalfOpenTable::AnyVictim() const {
  if (const Address* freshest = Freshest()) return freshest->fresh.begin()->second;
  const Queue::value_type* oldest = nullptr;
  for (const auto& [name, address] : addresses_) {
    if (address.silent.empty() || (oldest != nullptr && *oldest < *address.silent.begin())) continue;
    oldest = &*address.silent.begin();
  }
  return oldest == nullptr ? std::nullopt : std::optional(oldest->second);
}

Deadline HalfOpenTable::NextVictim() const {
  Deadline next = Deadline::Never();
  for (const auto& [name, address] : addresses_) {
    if (const auto* oldest = OlderOf(address.fresh, address.silent))
      next = next.EarlierOf(Deadline::At(oldest->first + kPatience));
  }
  if (full() && Busiest() != nullptr) next = next.EarlierOf(Deadline::At(progress_ + kShortPatience));
  return next;
}

}  // namespace muster::net
