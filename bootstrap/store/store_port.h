// The port of the group's store, held from before the group forms: its number travels with rank 0's claim,
// and only the formed group has the address of this node for all other nodes. If programs serve the store
// themselves, a port for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/options.h"

namespace muster::store {

class StorePort {
 public:
  struct Wish {
    PortRange ports;              // rendezvous.ports
    uint16_t but_not = 0;         // the group's own rendezvous (rendezvous.endpoint); 0: no fixed port
    bool only_this_node = false;  // at net::LoopbackHost() alone; else at each of this node's addresses
    // The ports in which the group's ranks search for its root: the store would receive their connections.
    // Used only if `ports` has no other.
    std::vector<uint16_t> rather_not = {};
    std::vector<uint16_t> of_others = {};  // Meeting::ports_of_others: never
  };
  // A port that is free here, from `ports` as long as another one is free there for groups that form: else,
  // or if none is free, one of the kernel's choice. No other process can take it from now on. Clients wait in
  // the kernel. Error: kSystem.
  static Result<StorePort> Hold(const Wish& wish);

  uint16_t port() const { return port_; }
  // The listener at `host` (numeric); those at the other addresses are closed. Error: kSystem, if no such
  // address was there before and it cannot be bound now.
  Result<UniqueFd> KeepOnly(const std::string& host);

 private:
  explicit StorePort(std::vector<UniqueFd> listeners);

  std::vector<UniqueFd> listeners_;
  uint16_t port_;
};

// MASTER_PORT for programs that bind it themselves (run.store: program): a port that is free on all addresses
// of this node now, from `ports` (outside the range where outgoing connections get theirs, so that it stays
// free until the program takes it), else one of the kernel's choice. `of_others` (Meeting::ports_of_others)
// is left alone. Error: kSystem.
Result<uint16_t> FreeProgramPort(PortRange ports, const std::vector<uint16_t>& of_others);

}  // namespace muster::store
