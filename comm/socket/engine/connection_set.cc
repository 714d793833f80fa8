#include "comm/socket/engine/connection_set.h"

#include <algorithm>
#include <utility>

namespace muster::socket {

ConnectionSet::ConnectionSet(std::shared_ptr<Mesh> mesh, uint64_t communicator, Purpose purpose,
                             std::vector<int> world_ranks)
    : mesh_(std::move(mesh)),
      communicator_(communicator),
      purpose_(purpose),
      world_ranks_(std::move(world_ranks)) {}

int ConnectionSet::own_rank() const {
  return static_cast<int>(std::ranges::find(world_ranks_, mesh_->group().rank()) - world_ranks_.begin());
}

ConnectionSet::Found ConnectionSet::Get(int rank) {
  const std::lock_guard lock(mutex_);
  connections_.resize(world_ranks_.size());
  std::unique_ptr<Connection>& connection = connections_[static_cast<size_t>(rank)];
  if (connection) return {connection.get(), {}};
  LinkState state = mesh_->Take({communicator_, purpose_, WorldRank(rank)});
  if (state.link.fd) connection = std::make_unique<Connection>(std::move(state.link));
  return {connection.get(), std::move(state.failure)};
}

Connection* ConnectionSet::Existing(int rank) {
  const std::lock_guard lock(mutex_);
  return connections_.empty() ? nullptr : connections_[static_cast<size_t>(rank)].get();
}

void ConnectionSet::SendLeave() {
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Connection>& connection : connections_) {
    if (connection) connection->SendLeave(communicator_);
  }
  // A peer that waits for this rank on an unused connection must not take its end for a crash.
  for (ProvenLink& link : mesh_->End(communicator_, purpose_)) {
    Connection(std::move(link)).SendLeave(communicator_);
  }
}

}  // namespace muster::socket
