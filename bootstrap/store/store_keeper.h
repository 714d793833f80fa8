// The group's store, served by rank 0's supervisor: a TCPStore-compatible server on a thread of its own,
// started by the first client. Its gate admits the programs of the group only, each to the store of its own
// generation (store_users.h).
//
// A connection passes two checks. The screen, on the server's thread, refuses an address that is no node's,
// and another user of this machine, without work for another thread or node. The gate queries the one node of
// the address, once the client has sent VALIDATE. No verdict is cached: the kernel's answer is about one
// connection, and a program may share its address with programs outside the group.
//
// All methods belong to the EventLoop's thread. A verdict that takes long delays only the connection that it
// is about.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/store/store_addresses.h"
#include "bootstrap/store/store_port.h"
#include "comm/net/event_loop.h"
#include "comm/rendezvous/control/control_plane.h"
#include "comm/rendezvous/tcp_store/server_thread.h"

namespace muster::store {

// Clients of a store whose process may have `descriptors` open, and has links to that number of `nodes` and of own ranks.
uint64_t MostClients(uint64_t descriptors, uint64_t nodes, uint64_t own_ranks);

class StoreKeeper {
 public:
  struct Params {
    net::EventLoop& loop;
    rendezvous::ControlPlane& plane;  // must outlive this
    rendezvous::OwnerInquiry::Look look;
    std::string host;  // numeric: this node's address for all other nodes
    uid_t uid = 0;     // the group's user
    // After this time a difference of the ranks' generations is reported; zero: never.
    Duration straggler_after{};
  };

  // Error: kSystem.
  static Result<std::unique_ptr<StoreKeeper>> Start(Params params, StorePort port);
  StoreKeeper(const StoreKeeper&) = delete;
  StoreKeeper& operator=(const StoreKeeper&) = delete;
  ~StoreKeeper();

 private:
  using Verdict = tcp_store::ServerOptions::Verdict;
  struct Asked {
    size_t open = 0;  // nodes that have not answered
    rendezvous::OwnerAnswer best;
  };

  explicit StoreKeeper(Params params);
  void Serve();
  // Made when the first client comes. Threads: any.
  const StoreAddresses& Addresses();
  Result<tcp_store::ServerOptions> Options();
  void Judge(const net::SocketAddress& peer, const Verdict& verdict);
  void Conclude(const rendezvous::OwnerAnswer& answer, const Verdict& verdict);
  Result<std::optional<tcp_store::Member>> MemberOf(const rendezvous::OwnerAnswer& answer);
  void TakeNote(int rank, uint32_t generation);
  void CompareGenerations();

  Params params_;
  std::once_flag addresses_made_;
  std::optional<StoreAddresses> addresses_;
  UniqueFd listener_;  // until there is a server
  tcp_store::ServerOptions options_;
  std::unique_ptr<tcp_store::ServerThread> server_;  // its thread uses the members above
  std::vector<uint32_t> generations_;                // of each rank, the latest that was seen
  uint32_t latest_ = 0;
  bool compares_ = false;  // soon
  bool reported_ = false;  // a difference, since the generations were equal
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::store
