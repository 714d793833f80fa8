// Which nodes of the group an address belongs to: whoever connects to the store from another one is a stranger.
//
// A node is known by the addresses that it advertised (Roster::Node), and by all others of its interfaces: a
// program's connection to the store may take another interface than the control plane's. The others travel
// with the claim of each node's first process (master_port.h). Addresses that every node has (loopback,
// docker0) say nothing of another node.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "comm/net/socket.h"
#include "comm/roster.h"

namespace muster::store {

class StoreAddresses {
 public:
  // `own_node`: index of this process's node. `own`: all addresses of this machine.
  StoreAddresses(const Roster& roster, int own_node, const std::vector<std::string>& own);

  // A connection from there was made on this machine.
  bool IsOwn(const net::SocketAddress& peer) const;
  // Usually one; several where nodes share a network namespace. Empty: a stranger's.
  std::vector<int> NodesOf(const net::SocketAddress& peer) const;

 private:
  int own_node_;
  std::unordered_set<std::string> own_;
  std::unordered_map<std::string, std::vector<int>> nodes_;
};

}  // namespace muster::store
