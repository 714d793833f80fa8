// The connections of one communicator for one purpose, by rank. Collectives and Send/Recv have a set each,
// and every communicator has its own. So messages on a connection are of one stream of calls, and no
// operation receives messages of another one.
//
// Threads: all functions may be called from any thread; a Connection stays in place until the set is
// destroyed.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/socket/transport/connection.h"
#include "comm/socket/transport/mesh.h"

namespace muster::socket {

class ConnectionSet {
 public:
  // `world_ranks[r]`: the group's rank that has number r in this communicator.
  ConnectionSet(std::shared_ptr<Mesh> mesh, uint64_t communicator, Purpose purpose,
                std::vector<int> world_ranks);
  ConnectionSet(const ConnectionSet&) = delete;
  ConnectionSet& operator=(const ConnectionSet&) = delete;

  struct Found {
    Connection* connection = nullptr;
    std::optional<LinkFailure> failure;  // final; neither: undecided
  };
  Found Get(int rank);
  // The connection if there is one; nothing is begun.
  Connection* Existing(int rank);

  int WorldRank(int rank) const { return world_ranks_[static_cast<size_t>(rank)]; }
  int size() const { return static_cast<int>(world_ranks_.size()); }
  int own_rank() const;
  Mesh& mesh() const { return *mesh_; }

  // On all connections; no thread may be using them.
  void SendLeave();

 private:
  const std::shared_ptr<Mesh> mesh_;
  const uint64_t communicator_;
  const Purpose purpose_;
  const std::vector<int> world_ranks_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by rank; empty: none was asked for
};

}  // namespace muster::socket
