#include "comm/rendezvous/tcp_store/waits.h"

namespace muster::tcp_store {
namespace {

// The memory of a waiter and its place, and of an entry of the table beside its key.
constexpr uint64_t kWaiter = 96;
constexpr uint64_t kEntry = 128;

}  // namespace

Status Waits::Add(ClientId client, std::span<const std::string_view> keys) {
  Remove(client);
  Wait& wait = waits_[client];
  wait.places.reserve(keys.size());
  for (const std::string_view key : keys) {
    if (Status added = AddKey(client, wait, key); !added) {
      Remove(client);
      return added;
    }
  }
  return {};
}

Status Waits::AddKey(ClientId client, Wait& wait, std::string_view key) {
  auto found = queues_.find(key);
  if (found == queues_.end()) {
    MUSTER_CHECK(memory_.Take(kEntry + key.size()));
    found = queues_.try_emplace(std::string(key)).first;
  }
  Queue& queue = found->second;
  if (Status taken = memory_.Take(kWaiter); !taken) {
    if (queue.empty()) Drop(*found);
    return taken;
  }
  queue.push_back({client, wait.places.size()});
  wait.places.push_back({&*found, std::prev(queue.end())});
  ++wait.missing;
  return {};
}

void Waits::Remove(ClientId client) {
  const auto found = waits_.find(client);
  if (found == waits_.end()) return;
  for (const Wait::Place& place : found->second.places) {
    if (place.queue == nullptr) continue;
    place.queue->second.erase(place.waiter);
    memory_.GiveBack(kWaiter);
    if (place.queue->second.empty()) Drop(*place.queue);
  }
  waits_.erase(found);
}

void Waits::Satisfy(std::string_view key, std::vector<ClientId>& woken, bool only_one) {
  if (queues_.empty()) return;
  const auto found = queues_.find(key);
  if (found == queues_.end()) return;
  const size_t before = woken.size();
  while (!found->second.empty() && !(only_one && woken.size() > before)) {
    const ClientId client = found->second.front().client;
    if (TakeFirst(*found)) woken.push_back(client);
  }
  if (found->second.empty()) Drop(*found);
}

bool Waits::TakeFirst(Queues::value_type& queue) {
  const Waiter waiter = queue.second.front();
  queue.second.pop_front();
  memory_.GiveBack(kWaiter);
  const auto found = waits_.find(waiter.client);
  Wait& wait = found->second;
  wait.places[waiter.place].queue = nullptr;
  if (--wait.missing > 0) return false;
  waits_.erase(found);
  return true;
}

void Waits::Drop(Queues::value_type& queue) {
  memory_.GiveBack(kEntry + queue.first.size());
  queues_.erase(queues_.find(queue.first));
}

}  // namespace muster::tcp_store
