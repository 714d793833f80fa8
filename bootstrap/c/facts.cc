// The part of muster.h that only returns facts: nothing here fails or waits.
#include "bootstrap/bootstrap.h"
#include "bootstrap/c/handles.h"

namespace {

muster::c::InUse Find(const muster_comm* comm) {
  muster::Result<muster::c::InUse> alive = muster::c::Alive(comm);
  return alive ? *std::move(alive) : muster::c::InUse();
}

const muster::Roster::Node* FindNode(const muster_comm* comm, int node) {
  const muster::c::InUse communicator = Find(comm);
  if (!communicator || node < 0) return nullptr;
  const auto& nodes = communicator->roster().nodes;
  return static_cast<size_t>(node) < nodes.size() ? &nodes[static_cast<size_t>(node)] : nullptr;
}

}  // namespace

int muster_rank(const muster_comm* comm) {
  const muster::c::InUse communicator = Find(comm);
  return !communicator ? -1 : communicator->rank();
}

int muster_size(const muster_comm* comm) {
  const muster::c::InUse communicator = Find(comm);
  return !communicator ? -1 : communicator->size();
}

int muster_local_rank(const muster_comm* comm) {
  const muster::c::InUse communicator = Find(comm);
  if (!communicator) return -1;
  return communicator->roster().members[static_cast<size_t>(communicator->rank())].local_rank;
}

int muster_local_size(const muster_comm* comm) {
  const muster::c::InUse communicator = Find(comm);
  return !communicator ? -1 : communicator->roster().LocalSize(muster_node_rank(comm));
}

int muster_node_rank(const muster_comm* comm) { return muster_node_of(comm, muster_rank(comm)); }

int muster_num_nodes(const muster_comm* comm) {
  const muster::c::InUse communicator = Find(comm);
  return !communicator ? -1 : static_cast<int>(communicator->roster().nodes.size());
}

int muster_node_of(const muster_comm* comm, int rank) {
  const muster::c::InUse communicator = Find(comm);
  if (!communicator || rank < 0 || rank >= communicator->size()) return -1;
  return communicator->roster().NodeOf(rank);
}

const char* muster_node_name(const muster_comm* comm, int node) {
  const muster::Roster::Node* found = FindNode(comm, node);
  return found == nullptr ? nullptr : found->name.c_str();
}

const char* muster_node_address(const muster_comm* comm, int node, int index) {
  const muster::Roster::Node* found = FindNode(comm, node);
  if (found == nullptr || index < 0 || static_cast<size_t>(index) >= found->addresses.size()) return nullptr;
  return found->addresses[static_cast<size_t>(index)].c_str();
}

const char* muster_group_id(const muster_comm* comm) {
  const muster::c::InUse communicator = Find(comm);
  return !communicator ? nullptr : communicator->roster().group_id.c_str();
}

const char* muster_backend(const muster_comm* comm) {
  const muster::c::InUse communicator = Find(comm);
  // Backends name themselves by a literal.
  return !communicator ? nullptr : communicator->backend().data();
}

const char* muster_launcher() {
  const muster::RankTuple* tuple = muster::InitializedTuple();
  return tuple == nullptr ? nullptr : tuple->launcher.c_str();
}

const char* muster_job_key() {
  const muster::RankTuple* tuple = muster::InitializedTuple();
  return tuple == nullptr ? nullptr : tuple->job.key.c_str();
}

int64_t muster_collective_timeout_ns() {
  const muster::TimeoutOptions* timeouts = muster::InitializedTimeouts();
  return timeouts == nullptr ? -1 : timeouts->collective.count();
}
