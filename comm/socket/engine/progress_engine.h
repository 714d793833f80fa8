// The engine of the operations: rounds of messages to and from any peers, all moving at the same time, and
// the only place where the socket backend waits.
//
// An algorithm queues messages to send and receive and calls Run, which returns after the round; like MPI's
// Waitall over non-blocking calls. Run never waits for one message before it serves another, in either
// direction. So a round ends as soon as every partner is in the round that answers it. An algorithm is free
// of deadlock if it is free of deadlock with synchronous sends. That is: each receive has its send, and
// rounds can be put in an order. In that order every rank only waits for partners in an earlier or the same
// round. The ones here do: rounds are numbered by step, the partner of step s is in its step s. Making
// connections adds no waits (mesh.h). Steps that SendArriving joins to one round stay numbered: a send waits
// for a receive of an earlier step only, and on each connection the steps keep their order.
//
// While it waits, Run watches its peers, the Mesh, and the group's failure, which ends it immediately; after
// its deadline, a disagreement or a lost peer it fails the group itself. An error of Run is final.
//
// Threads: one at a time. Ownership: buffers are the caller's and must stay until Run returns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/socket/engine/awaited.h"
#include "comm/socket/engine/blocked_wait.h"
#include "comm/socket/engine/connection_set.h"
#include "comm/socket/engine/current_call.h"
#include "comm/socket/engine/peer_failures.h"
#include "comm/socket/engine/round.h"
#include "comm/socket/transport/call_history.h"

namespace muster::socket {

class ProgressEngine {
 public:
  // `connections` and `history` (may be null) outlive it.
  ProgressEngine(ConnectionSet& connections, CallHistory* history, const ProgressEngineOptions& options);
  ProgressEngine(const ProgressEngine&) = delete;
  ProgressEngine& operator=(const ProgressEngine&) = delete;
  ~ProgressEngine() { End(); }

  // `deadline`: if the call has waited for something else before; else `timeout` from the first wait on.
  void Begin(const Call& call, Duration timeout, std::optional<Deadline> deadline = std::nullopt) {
    call_.Begin(call, timeout, deadline);
  }
  void End();

  const Call& call() const { return call_.call(); }
  ConnectionSet& connections() { return connections_; }
  // To fail the group when an algorithm finds a fault of a peer, or of its data.
  PeerFailures& failures() { return call_.failures(); }
  // True if it spins before it sleeps; allow it if every rank turns out to have its own processor.
  bool spins() const { return spin_; }
  void AllowSpinning() { spin_ = true; }

  // Peers are ranks of this communicator, never this rank itself. The results of Receive and ReceiveCombined
  // are for SendArriving, and valid until Run returns.
  void Send(int peer, ByteView payload) { SendArriving(peer, payload, nullptr); }
  const ArrivedBytes* Receive(int peer, std::span<uint8_t> into);
  // Of any length, or of that one: then `into` has room for it, and stays where it is.
  const ArrivedBytes* ReceiveBytes(int peer, Bytes& into, std::optional<uint64_t> length = std::nullopt);
  const ArrivedBytes* ReceiveCombined(int peer, const Combining& combining);
  // `payload` is the destination of a receive of this same round, and is sent as it arrives: the next step of
  // a pipeline, without waiting for the whole of the one before.
  void SendArriving(int peer, ByteView payload, const ArrivedBytes* arrival);

  // `descriptor` goes along with `payload`; only over a Unix socket. After its Run the receiver takes a duplicate from the
  // connection (Connection::TakeDescriptor).
  void SendWithDescriptor(int peer, ByteView payload, int descriptor);

  // Until everything queued is done. BLOCKS, at most until the deadline and the time it takes to agree on an
  // error.
  Status Run();
  // Until something has happened in shared memory; nothing may be queued. BLOCKS like Run.
  Status Await(Awaited& awaited);

 private:
  Status Drive();
  Status Spin();
  bool SpinFor(Awaited& awaited);

  ConnectionSet& connections_;
  bool spin_;
  CurrentCall call_;
  Round round_;
  BlockedWait wait_;
};

}  // namespace muster::socket
