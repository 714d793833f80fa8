// The engine of the operations: rounds of messages to and from any peers, all moving at once, and the only
// place where the socket backend waits.
//
// An algorithm queues what it wants to send and receive, calls Run, and has a round behind it; like MPI's
// Waitall over non-blocking calls. Run never waits for one message before it serves another, in either
// direction, so a round is through as soon as every partner is in the round that answers it. An algorithm is
// therefore free of deadlock if it is free of deadlock with synchronous sends: each receive has its send, and
// rounds can be put in an order in which every rank only waits for partners in an earlier or the same round.
// The ones here do (rounds are numbered by step, the partner of step s is in its step s); and making
// connections adds no waits of its own (mesh.h).
//
// While it waits, Run watches its peers, the Mesh, and the group's failure, which ends it at once; after its
// deadline, a disagreement or a lost peer it fails the group itself. An error of Run is final.
//
// Threads: one at a time. Ownership: buffers are the caller's and must stay until Run returns.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/socket/lane.h"
#include "comm/socket/ledger.h"
#include "comm/socket/peer_stream.h"
#include "comm/socket/vigil.h"

namespace muster {

struct ExchangeOptions {
  Duration patience = std::chrono::milliseconds(500);
  Duration cause_grace = std::chrono::seconds(1);
  bool spin = false;
  bool sole_reader = true;  // nobody else receives on the lane's connections
};

class Exchange {
 public:
  // `lane` and `ledger` (may be null) outlive it.
  Exchange(Lane& lane, Ledger* ledger, const ExchangeOptions& options);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange();

  void Begin(const Call& call, Duration timeout);
  void End();

  const Call& call() const { return call_; }
  int size() const { return lane_.size(); }

  // Peers are ranks of this communicator, never this rank itself.
  void Send(int peer, ByteView payload);
  void Receive(int peer, std::span<uint8_t> into);
  void ReceiveBytes(int peer, Bytes& into);  // of whatever length
  void ReceiveCombined(int peer, const Combining& combining);

  // Until everything queued is done. BLOCKS, at most until the deadline and the time it takes to agree on an
  // error.
  Status Run();

 private:
  PeerStream& StreamTo(int peer);
  Status Drive();
  Status AdvanceAll(bool& moved);
  Status Advance(PeerStream& stream, bool& moved);
  Status Connect(PeerStream& stream);
  Status OnEvent(PeerStream& stream, StreamEvent event);
  Status Spin();

  Status Wait();
  void PreparePoll();
  Deadline WakeAt() const;
  Status AfterPoll();
  Status ServeMesh();
  Status CheckTime();
  Status UseWaker();

  void Lose(const PeerStream& stream, std::string message);
  bool LeftWithGoodbye(PeerStream& stream) const;
  tl::unexpected<Error> Fail(const Error& error);
  Error DeadlineError();
  std::string Subject(int peer) const;
  std::vector<int> WaitingFor() const;
  int Unfinished() const;

  Lane& lane_;
  Mesh& mesh_;
  Group& group_;
  const ExchangeOptions options_;
  Vigil vigil_;

  Call call_;
  Deadline deadline_ = Deadline::Never();
  Duration timeout_{};

  std::vector<PeerStream> streams_;  // the first active_ are in use; kept for their memory
  size_t active_ = 0;
  std::unique_ptr<uint8_t[]> scratch_;

  struct Loss {
    int rank = 0;
    Error error;
    Deadline report_at = Deadline::Never();
  };
  std::optional<Loss> loss_;  // waiting for the control plane to name the cause

  std::vector<pollfd> polled_;
  std::vector<PeerStream*> polled_streams_;  // of polled_, behind the fixed ones
  UniqueFd waker_;
  bool waker_added_ = false;
};

}  // namespace muster
