// Which nodes of the group an address belongs to: a connection to the store from any other address is not
// from the group.
//
// A node has the addresses that it advertised (Roster::Node), and all others of its interfaces: a program's
// connection to the store may take another interface than the control plane's. The second kind travels with
// the claim of each node's first process (master_port.h). Addresses that several machines have (loopback,
// docker0, a management network inside each node) do not identify another node: usually no connection between
// nodes comes from there.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "bootstrap/store/local_owner.h"
#include "comm/net/socket.h"
#include "comm/roster.h"

namespace muster::store {

class StoreAddresses {
 public:
  // `own_node`: index of this process's node. `own`: all addresses of this machine.
  StoreAddresses(const Roster& roster, int own_node, const std::vector<std::string>& own);

  // A connection from there was made on this machine.
  bool IsOwn(const net::SocketAddress& peer) const { return own_.Contain(peer); }
  // Usually one; several only if they share a network namespace. Empty: not of the group.
  std::vector<int> NodesOf(const net::SocketAddress& peer) const;

 private:
  int own_node_;
  OwnAddresses own_;
  std::unordered_map<std::string, std::vector<int>> nodes_;
};

}  // namespace muster::store
