// The ranks that have arrived at a process while a group forms. Values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
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
  struct Node {
    int ranks = 0;
    int size = -1;  // of the node; -1: unknown

    bool Whole() const { return ranks > 0 && ranks >= size; }
  };

  bool root = false;
  bool leader = false;  // of its node; the root is one, too
  int world_size = 0;
  size_t nodes = 0;     // of the launch; 0: unknown
  int local_size = -1;  // ranks of this node; -1: unknown
  int local = 0;        // of them have come, with the process's own
  int remote = 0;       // have come from other nodes
  int below = 0;        // ranks on the nodes below this one in the tree of leaders; -1: unknown
  std::unordered_map<size_t, std::vector<int>> processes{};  // by IdentityOf: the pids; 0: reported as lost
  std::unordered_map<std::string, Node> by_node{};           // the counted ranks
  size_t whole_nodes = 0;  // of these; of a node of unknown size one rank is enough

  bool WholeNodeIsHere() const { return local_size >= 0 && local >= local_size; }
  // And those below it.
  bool WholeSubtreeIsHere() const { return WholeNodeIsHere() && below >= 0 && remote >= below; }
  // Each process once: one whose leader ends after its hello comes again by itself, and reports that leader. The report may come
  // before the hello of the leader.
  void Count(const Hello& hello, bool same_node) {
    for (const ProcessInfo& member : hello.members) {
      std::vector<int>& pids = processes[IdentityOf(member)];
      if (std::ranges::count(pids, member.pid) > 0) continue;
      const int before = NumberOf(pids);
      pids.push_back(member.pid);
      Add(member, same_node, NumberOf(pids) - before);
    }
  }
  // They may come again.
  void Discount(const std::vector<ProcessInfo>& members, bool same_node) {
    for (const ProcessInfo& member : members) {
      std::vector<int>& pids = processes[IdentityOf(member)];
      const int before = NumberOf(pids);
      std::erase(pids, member.pid);
      Add(member, same_node, NumberOf(pids) - before);
    }
  }

 private:
  // A lost process is one of the others, if there are any.
  static int NumberOf(const std::vector<int>& pids) {
    const auto with_hello = std::ranges::count_if(pids, [](int pid) { return pid != 0; });
    return with_hello > 0 ? static_cast<int>(with_hello) : static_cast<int>(pids.size());
  }
  void Add(const ProcessInfo& process, bool same_node, int times) {
    const int ranks = times * static_cast<int>(process.claims.size());
    (same_node ? local : remote) += ranks;
    Node& node = by_node[process.node];
    whole_nodes -= node.Whole() ? 1 : 0;
    node.ranks += ranks;
    if (!process.claims.empty()) node.size = std::max(node.size, process.claims.front().local_size);
    whole_nodes += node.Whole() ? 1 : 0;
  }
  // By its rank: in containers of their own, several processes of a node have the same number. Different within a node: the
  // factor is odd.
  static size_t IdentityOf(const ProcessInfo& process) {
    const int rank = process.claims.empty() ? -1 : process.claims.front().rank;
    return std::hash<std::string>()(process.node) ^
           (uint64_t{static_cast<uint32_t>(rank)} * 0x9E3779B97F4A7C15);
  }
};

}  // namespace muster::rendezvous
