// Send and Recv of one communicator, on connections of their own, so that they can run beside a collective.
//
// Threads: any. Each direction of each pair of ranks is one stream: Send to a peer waits for an earlier Send
// to it (within its own deadline), and so does Recv; the two directions, and different peers, do not wait for
// each other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/socket/core.h"
#include "comm/socket/engine/connection_set.h"

namespace muster::socket {

class PointToPoint {
 public:
  // `closed`: set when the communicator is ended.
  PointToPoint(const SocketCore& core, const Members& members, const std::atomic<bool>& closed);

  // Arguments have been checked. BLOCK like ProgressEngine::Run. `alone` is set if the error concerns this call alone.
  Status Send(ConstBuffer buffer, int to, Duration timeout, bool& alone);
  Status Recv(Buffer buffer, int from, Duration timeout, bool& alone);
  // The calls in progress, counted by the caller: what it does with their results is part of them.
  std::atomic<int>& calls() { return calls_; }
  // After `closed` was set: wakes the calls that wait for their turn. True if no call is left.
  bool Settle();
  void SendLeave() { connections_.SendLeave(); }

 private:
  // One direction of the traffic with one peer: one call at a time, numbered.
  class Direction {
   public:
    // The number of this call, once the one before has ended; absent at the deadline, and once `closed`.
    std::optional<uint64_t> Enter(Deadline deadline, const std::atomic<bool>& closed);
    void Leave();
    void WakeAll();
    // The result of `body`, unless a call is at work: then false. None begins meanwhile.
    template <typename Body>
    bool IfIdle(const Body& body) {
      const std::lock_guard lock(mutex_);
      return !busy_ && body();
    }

   private:
    std::mutex mutex_;
    std::condition_variable left_;
    bool busy_ = false;
    uint64_t sequence_ = 0;
  };
  struct Peer {
    Direction send;
    Direction receive;
  };
  Peer& PeerAt(int rank);
  // Runs `body` when it is the direction's turn.
  Status InTurn(Direction& direction, int peer, Duration timeout, Call call,
                const std::function<Status(const Call&, Deadline)>& body);

  const SocketCore& core_;
  const std::atomic<bool>& closed_;
  const uint64_t communicator_;
  ConnectionSet connections_;
  std::atomic<int> calls_ = 0;
  std::mutex mutex_;
  std::unordered_map<int, std::unique_ptr<Peer>> peers_;
};

}  // namespace muster::socket
