// The ranks that have arrived at a process while a group forms. Values.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

struct Arrival {
  Duration at{};  // since the root began to wait
  std::string node;

  friend bool operator==(const Arrival&, const Arrival&) = default;
};

// The root's record, by rank. For reports.
using Arrivals = std::map<int, Arrival>;

// The number of arrived ranks, among those that a process waits for: all at the root, those of its node at a
// leader.
struct ArrivedRanks {
  bool root = false;
  bool leader = false;  // of its node; the root is one, too
  int world_size = 0;
  size_t nodes = 0;                        // of the launch; 0: unknown
  int local_size = -1;                     // ranks of this node; -1: unknown
  int local = 0;                           // of them have come, with the process's own
  int remote = 0;                          // have come from other nodes
  std::set<std::string> notified_nodes{};  // other nodes that have received the group's failure
  int below = 0;  // ranks on the nodes below this one in the tree of leaders; -1: unknown
  std::unordered_set<size_t> processes{};  // that are counted in `local` and `remote`: IdentityOf

  bool WholeNodeIsHere() const { return local_size >= 0 && local >= local_size; }
  // And those below it.
  bool WholeSubtreeIsHere() const { return WholeNodeIsHere() && below >= 0 && remote >= below; }
  // Each process once: one whose leader ends after its hello comes again by itself.
  void Count(const Hello& hello, bool same_node) {
    for (const ProcessInfo& member : hello.members) {
      if (member.pid == 0 || !processes.insert(IdentityOf(member)).second) continue;
      (same_node ? local : remote) += static_cast<int>(member.claims.size());
    }
  }
  // They may come again.
  void Discount(const std::vector<ProcessInfo>& members, bool same_node) {
    for (const ProcessInfo& member : members) {
      if (processes.erase(IdentityOf(member)) > 0)
        (same_node ? local : remote) -= static_cast<int>(member.claims.size());
    }
  }

  // With its rank: in containers of their own, several processes of a node have the same number.
  static size_t IdentityOf(const ProcessInfo& process) {
    const int rank = process.claims.empty() ? -1 : process.claims.front().rank;
    return std::hash<std::string>()(fmt::format("{} {} {}", rank, process.pid, process.node));
  }
};

}  // namespace muster::rendezvous
