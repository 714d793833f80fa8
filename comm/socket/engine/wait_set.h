// The descriptors that a blocked rank waits for, in one poll(2): the group's failure, the Mesh, the peers of
// the round. If it waits in shared memory also its doorbell and the ends of its node's connections.
//
// Threads: one; the waker is written by any.
#pragma once

#include <poll.h>

#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/unique_fd.h"
#include "comm/socket/engine/peer_stream.h"
#include "comm/socket/transport/mesh.h"

namespace muster::socket {

class WaitSet {
 public:
  explicit WaitSet(Mesh& mesh) : mesh_(mesh) {}
  WaitSet(const WaitSet&) = delete;
  WaitSet& operator=(const WaitSet&) = delete;
  ~WaitSet() { RemoveWaker(); }

  // From now on, connections and answers that another thread completes wake this one. Not those that are
  // complete: check once more after the call. Error: errno, kSystem.
  Status AddWaker();
  void RemoveWaker();
  bool has_waker() const { return waker_added_; }
  int waker() const { return waker_added_ ? waker_.get() : -1; }

  // Empties the set, except the failure, the Mesh and the waker.
  void Prepare();
  void Add(PeerStream& stream);
  void AddDoorbell(int descriptor) { polled_[kDoorbell].fd = descriptor; }
  // Only the end of its connection counts: a peer that goes on may have sent data for a later call.
  void AddEndOf(int peer, int descriptor);

  // BLOCKS until a descriptor is ready or `wake`. Ready descriptors; negative: errno.
  int Poll(Deadline wake);
  // After Poll.
  bool group_failed() const { return polled_[kFailure].revents != 0; }
  bool mesh_ready() const { return polled_[kMesh].revents != 0; }
  bool doorbell_rang() const { return polled_[kDoorbell].revents != 0; }
  // True if the waker woke this rank.
  bool DrainWaker();
  const std::vector<PeerStream*>& ready_streams() const { return ready_streams_; }
  // Those that can do nothing yet, and whose peer has closed its connection.
  const std::vector<PeerStream*>& closed_streams() const { return closed_streams_; }
  const std::vector<int>& ended_peers() const { return ended_peers_; }

 private:
  enum Fixed : size_t { kFailure, kMesh, kWaker, kDoorbell, kCount };

  Mesh& mesh_;
  UniqueFd waker_;
  bool waker_added_ = false;
  std::vector<pollfd> polled_;  // the fixed ones, then streams_, then peers_
  std::vector<PeerStream*> streams_;
  std::vector<int> peers_;
  std::vector<PeerStream*> ready_streams_;
  std::vector<PeerStream*> closed_streams_;
  std::vector<int> ended_peers_;
};

}  // namespace muster::socket
