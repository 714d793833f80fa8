#include "comm/net/half_open.h"

#include <algorithm>

namespace muster::net {

HalfOpenTable::Id HalfOpenTable::Add(const std::string& address, Clock::time_point now) {
  const Id id = next_++;
  Address& of = addresses_[address];
  ++of.connections;
  of.fresh.emplace(now, id);
  all_.emplace(id, Entry{address, now});
  return id;
}

void HalfOpenTable::Remove(Id id) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  Unqueue(id, found->second);
  const auto address = addresses_.find(found->second.address);
  if (--address->second.connections == 0) addresses_.erase(address);
  all_.erase(found);
}

void HalfOpenTable::Unqueue(Id id, const Entry& entry) {
  Address& address = addresses_.find(entry.address)->second;
  (entry.fresh ? address.fresh : address.silent).erase({entry.since, id});
}

void HalfOpenTable::SetActive(Id id) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  Unqueue(id, found->second);
  found->second.fresh = false;
  found->second.silent = false;
}

void HalfOpenTable::SetSilent(Id id, Clock::time_point now) {
  SetActive(id);
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  found->second.silent = true;
  found->second.since = now;
  addresses_.find(found->second.address)->second.silent.emplace(now, id);
}

const HalfOpenTable::Address* HalfOpenTable::Freshest() const {
  const auto most =
      std::ranges::max_element(addresses_, {}, [](const auto& entry) { return entry.second.fresh.size(); });
  return most == addresses_.end() || most->second.fresh.empty() ? nullptr : &most->second;
}

size_t HalfOpenTable::MostFresh() const {
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
  if (const Address* freshest = Freshest(); freshest != nullptr && freshest->fresh.size() > MostFresh())
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
  return next;
}

}  // namespace muster::net
