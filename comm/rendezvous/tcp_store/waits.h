// The clients that wait for keys. Pure; one thread. Memory comes out of the Budget.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "comm/base/error.h"
#include "comm/rendezvous/tcp_store/budget.h"
#include "comm/rendezvous/tcp_store/contents.h"

namespace muster::tcp_store {

using ClientId = uint64_t;

class Waits {
 public:
  explicit Waits(Budget& memory) : memory_(memory) {}
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  // For all of `keys` (at least one), each with its number of repetitions. Replaces the client's earlier
  // wait. Error: kDisagreement, and then the client waits for nothing.
  Status Add(ClientId client, std::span<const std::string_view> keys);
  void Remove(ClientId client);

  // The key exists: each client that waits only for it is appended to `woken`, in order of arrival.
  // `only_one`: there is one thing for one client.
  void Satisfy(std::string_view key, std::vector<ClientId>& woken, bool only_one = false);

  size_t clients() const { return waits_.size(); }

 private:
  // A client that waits for a key: the index of this one among its keys.
  struct Waiter {
    ClientId client = 0;
    size_t place = 0;
  };
  using Queue = std::list<Waiter>;
  using Queues = std::unordered_map<std::string, Queue, TextHash, std::equal_to<>>;
  struct Wait {
    size_t missing = 0;
    // By key; null if it exists. Elements of the table do not move.
    struct Place {
      Queues::value_type* queue = nullptr;
      Queue::iterator waiter;
    };
    std::vector<Place> places;
  };

  Status AddKey(ClientId client, Wait& wait, std::string_view key);
  // Takes the first waiter out of the queue; true when it waits for nothing more.
  bool TakeFirst(Queues::value_type& queue);
  void Drop(Queues::value_type& queue);

  Budget& memory_;
  Queues queues_;
  std::unordered_map<ClientId, Wait> waits_;
};

}  // namespace muster::tcp_store
