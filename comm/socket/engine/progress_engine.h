// The engine of the operations: rounds of messages to and from any peers, all moving at once, and the only
// place where the socket backend waits.
//
// An algorithm queues what it wants to send and receive, calls Run, and has a round behind it; like MPI's
// Waitall over non-blocking calls. Run never waits for one message before it serves another, in either
// direction, so a round is through as soon as every partner is in the round that answers it. An algorithm is
// therefore free of deadlock if it is free of deadlock with synchronous sends: each receive has its send, and
// rounds can be put in an order in which every rank only waits for partners in an earlier or the same round.
// The ones here do (rounds are numbered by step, the partner of step s is in its step s); and making
// connections adds no waits of its own (mesh.h). Steps that SendArriving joins to one round stay numbered: a
// send waits for a receive of an earlier step only, and on each connection the steps keep their order.
//
// While it waits, Run watches its peers, the Mesh, and the group's failure, which ends it at once; after its
// deadline, a disagreement or a lost peer it fails the group itself. An error of Run is final.
//
// Threads: one at a time. Ownership: buffers are the caller's and must stay until Run returns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/socket/engine/awaited.h"
#include "comm/socket/engine/call_clock.h"
#include "comm/socket/engine/connection_set.h"
#include "comm/socket/engine/peer_failures.h"
#include "comm/socket/engine/round.h"
#include "comm/socket/engine/stall_monitor.h"
#include "comm/socket/engine/wait_set.h"
#include "comm/socket/transport/call_history.h"

namespace muster::socket {

struct ProgressEngineOptions {
  Duration patience = std::chrono::milliseconds(500);
  Duration cause_grace = std::chrono::seconds(2);
  bool spin = false;
  Deadline latest = Deadline::Never();  // no wait beyond this, unless it has passed
  bool sole_reader = true;              // nobody else receives on the set's connections
};

class ProgressEngine {
 public:
  // `connections` and `history` (may be null) outlive it.
  ProgressEngine(ConnectionSet& connections, CallHistory* history, const ProgressEngineOptions& options);
  ProgressEngine(const ProgressEngine&) = delete;
  ProgressEngine& operator=(const ProgressEngine&) = delete;
  ~ProgressEngine();

  // `deadline`: where the call has waited for something else before; else `timeout` from the first wait on.
  void Begin(const Call& call, Duration timeout, std::optional<Deadline> deadline = std::nullopt);
  void End();

  const Call& call() const { return call_; }
  int size() const { return connections_.size(); }
  // Whether it spins before it sleeps; to be allowed where every rank turns out to have its own processor.
  bool spins() const { return options_.spin; }
  void AllowSpinning() { options_.spin = true; }

  // Peers are ranks of this communicator, never this rank itself. What Receive and ReceiveCombined give is
  // good for SendArriving, until Run returns.
  void Send(int peer, ByteView payload) { SendArriving(peer, payload, nullptr); }
  const ArrivedBytes* Receive(int peer, std::span<uint8_t> into);
  void ReceiveBytes(int peer, Bytes& into);  // of whatever length
  const ArrivedBytes* ReceiveCombined(int peer, const Combining& combining);
  // `payload` is what a receive of this same round writes, and goes out as it gets there: the next step of a
  // pipeline, without waiting for the whole of the one before.
  void SendArriving(int peer, ByteView payload, const ArrivedBytes* arrival);

  // Until everything queued is done. BLOCKS, at most until the deadline and the time it takes to agree on an
  // error.
  Status Run();

  // `descriptor` goes along with `payload`; only over a Unix socket. The receiver's TakeDescriptor
  // after its Run gives a duplicate, empty where none came.
  void SendWithDescriptor(int peer, ByteView payload, int descriptor);
  UniqueFd TakeDescriptor(int peer);
  // Of the connection to `peer`: Connection::PrivateDirectoryName.
  std::string PrivateDirectoryName(int peer);
  std::optional<net::PrivateDirectory> FindDirectory(const std::string& name) const {
    return mesh_.FindDirectory(name);
  }
  int WorldRank(int rank) const { return connections_.WorldRank(rank); }

  // Until something has happened in shared memory; nothing may be queued. BLOCKS like Run.
  Status Await(Awaited& awaited);
  // `peer` is in another call: fails the group with both sides' names.
  Status Disagree(int peer, const Call& theirs) { return failures_.Disagree(call_, peer, theirs); }
  // What `peer` gave was changed on its way to this rank: fails the group with both names.
  Status Tampered(int peer, std::string_view how) { return failures_.Tampered(call_, peer, how); }
  // What only a bug can bring about, or a peer's stray write.
  Status FailWith(const Error& error) { return failures_.Fail(error); }

 private:
  Status Drive();
  Status AdvanceAll(bool& moved);
  Status AdvanceHeld(bool& moved);
  Status Advance(PeerStream& stream, bool& moved);
  void Connect(PeerStream& stream);
  Status Spin();
  void SpinFor(Awaited& awaited);
  Status AwaitAsleep();

  Status Wait();
  Status UseWaker();
  void PrepareWait();
  Deadline WakeAt() const;
  void NoticeSuspension(Clock::time_point slept_from);
  Status ServeReady();
  Status NoticeEnd(int peer);
  void StartClock();
  Status CheckTime();
  bool Settled() const;
  std::vector<int> UnfinishedPeers() const;
  std::vector<int> WaitingFor() const;
  Error DeadlineError() const;

  ConnectionSet& connections_;
  Mesh& mesh_;
  Group& group_;
  ProgressEngineOptions options_;

  Call call_;
  CallClock clock_;
  Round round_;
  PeerFailures failures_;
  StallMonitor stall_monitor_;
  WaitSet wait_set_;
  Awaited* awaited_ = nullptr;
};

}  // namespace muster::socket
