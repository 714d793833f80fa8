// The connections of one listener that have not proven themselves, and the choice of the one to close when a
// new connection needs its place.
//
// A connection is fresh until its peer has sent a first message, silent while its peer owes the next bytes, and
// active while this side owes the answer. When all places are taken, one connection gives way:
//
//   1. If one address has more fresh connections than half its share of the places, and more than one: the oldest of
//      them. (Share: the places divided by the addresses.) Else a few addresses with silent connections could fill the
//      places and, because rule 2 is slow, the kernel's queue, which then drops packets of members.
//   2. Else the oldest silent connection that has owed bytes for kPatience. If several addresses have such
//      a connection: the one of the address with the most silent connections.
//   3. Else, if one address has more connections than half its share, and more than kFew, and no connection has
//      proven itself for kShortPatience (the table is crowded, until half the places are free): one of that address, for a
//      new connection of another address. First the one that has been silent longest, if for kShortPatience, then the
//      newest active one, else the newest. A new connection of an address with as many, or one fewer, only takes the
//      place of such a silent one, or is refused. Else some addresses that send first messages and keep the
//      connections could fill all places, and the kernel's queue.
//
// The addresses of one IPv6 network (/64) count as themselves until they are a quarter of the places. Further ones count
// as one: the owner of a network could connect from a new address each time. They are not one from the start, because all nodes
// of a cluster may be in one network with that owner.
//
// A real member sends its first message with the connection and answers within milliseconds, so it keeps its
// place. Rule 3 may refuse it if an attacker shares its address, or if many members of one address connect and none
// has proven itself within kShortPatience; it connects again.
//
// A value of one thread, without descriptors. Each call takes logarithmic time, but time linear in the number of
// addresses to choose a victim and to find when there will be one.
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
#include "comm/net/socket.h"

namespace muster::net {

// The address by which connections are counted and take turns. All of loopback is one: each user of the node can
// connect from each of its addresses.
std::string SourceOf(const SocketAddress& peer);

class HalfOpenTable {
 public:
  using Id = uint64_t;
  static constexpr Duration kPatience = std::chrono::milliseconds(250);
  static constexpr Duration kShortPatience = std::chrono::milliseconds(100);
  static constexpr size_t kFew = 3;

  explicit HalfOpenTable(size_t places) : places_(places) {}

  // Fresh and silent from `now` on. `address`: SourceOf.
  Id Add(const std::string& address, Clock::time_point now);
  void Remove(Id id);
  // A first message has come; the peer owes nothing until SetSilent.
  void SetActive(Id id);
  // The peer owes bytes again, from `now` on.
  void SetSilent(Id id, Clock::time_point now);
  // A connection has proven itself; Remove() follows.
  void SetProven(Clock::time_point now) { progress_ = now; }

  size_t size() const { return all_.size(); }
  bool full() const { return all_.size() >= places_; }
  // The connection that gives way to any new one: rules 1 and 2; absent: none does.
  std::optional<Id> Victim(Clock::time_point now) const;
  // Rule 3 applies: another address may be behind the new connections in the kernel's queue.
  bool Crowded(Clock::time_point now);
  // The connection that gives way to a new one of `address`: all rules; absent: the new one is refused.
  std::optional<Id> VictimFor(const std::string& address, Clock::time_point now);
  // The connection that gives way when the process itself runs out of descriptors: the oldest fresh one of
  // the address with the most, else the oldest silent one.
  std::optional<Id> AnyVictim() const;
  // When Victim() or Crowded() may change its answer with time alone.
  Deadline NextVictim() const;

 private:
  using Queue = std::set<std::pair<Clock::time_point, Id>>;  // the oldest first
  struct Address {
    size_t connections = 0;
    Queue fresh;
    Queue silent;  // without the fresh ones
    Queue active;
  };
  struct Entry {
    std::string address;
    Clock::time_point since;
    Queue Address::*queue = &Address::fresh;
  };
  std::string CountedAs(const std::string& address) const;
  const Address* Freshest() const;
  const Address* Busiest() const;
  size_t HalfShare() const;
  void Move(Id id, Queue Address::*queue, Clock::time_point since);

  const size_t places_;
  std::map<std::string, Address> addresses_;  // by CountedAs()
  std::map<std::string, size_t> networks_;    // IPv6: the number of their addresses
  std::unordered_map<Id, Entry> all_;
  Id next_ = 1;
  // Since all places were taken, until half of them are free.
  bool busy_ = false;
  bool crowded_ = false;
  Clock::time_point progress_{};  // when it began, or a connection has proven itself
};

}  // namespace muster::net
