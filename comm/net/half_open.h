// The connections of one listener that have not proven themselves, and the choice of the one to close when a
// new connection needs its place.
//
// A connection is fresh until its peer has sent a first message, and silent while its peer owes the
// next bytes. When all places are taken, one connection gives way:
//
//   1. If one address has more fresh connections than half its share of the places, and more than one: the oldest of
//      them. (Share: the places divided by the addresses.) Else a few addresses with silent connections could fill the
//      places and, because rule 2 is slow, the kernel's queue, which then drops packets of members.
//   2. Else the oldest silent connection that has owed bytes for kPatience. If several addresses have such
//      a connection: the one of the address with the most silent connections.
//
// A real member sends its first message with the connection and answers within milliseconds, so it keeps its
// place. No connection is refused for its address: a real member may share its node with an attacker.
//
// A value of one thread, without descriptors. Each call takes logarithmic time, Victim() time
// linear in the number of addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "comm/base/deadline.h"

namespace muster::net {

class HalfOpenTable {
 public:
  using Id = uint64_t;
  static constexpr Duration kPatience = std::chrono::milliseconds(250);

  explicit HalfOpenTable(size_t places) : places_(places) {}

  // Fresh and silent from `now` on.
  Id Add(const std::string& address, Clock::time_point now);
  void Remove(Id id);
  // A first message has come; the peer owes nothing until SetSilent.
  void SetActive(Id id);
  // The peer owes bytes again, from `now` on.
  void SetSilent(Id id, Clock::time_point now);

  size_t size() const { return all_.size(); }
  bool full() const { return all_.size() >= places_; }
  // The connection that gives way to a new one; absent: none does.
  std::optional<Id> Victim(Clock::time_point now) const;
  // The connection that gives way when the process itself runs out of descriptors: the oldest fresh one of
  // the address with the most, else the oldest silent one.
  std::optional<Id> AnyVictim() const;
  // When Victim() may change its answer with time alone.
  Deadline NextVictim() const;

 private:
  using Queue = std::set<std::pair<Clock::time_point, Id>>;  // the oldest first
  struct Address {
    size_t connections = 0;
    Queue fresh;
    Queue silent;  // without the fresh ones
  };
  struct Entry {
    std::string address;
    Clock::time_point since;
    bool fresh = true;
    bool silent = true;
  };
  const Address* Freshest() const;
  size_t MostFresh() const;
  void Unqueue(Id id, const Entry& entry);

  const size_t places_;
  std::map<std::string, Address> addresses_;
  std::unordered_map<Id, Entry> all_;
  Id next_ = 1;
};

}  // namespace muster::net
