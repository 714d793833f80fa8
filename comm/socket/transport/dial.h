// One outbound connection: tries all addresses of a peer in parallel until one has proven to be the peer and
// has accepted the connection (handshake.h).
//
// Same node: its Unix socket, and if that fails, or its queue stays full, TCP. Only the wait for the kernel
// to connect has its own deadline: a connected peer that does not answer is busy with the user's program, and
// the waiting call has a deadline already.
//
// A full queue drops the kernel's request (SYN), and the kernel repeats it after 1, 3 and 7 s. A queue that a flood keeps
// full has free places again and again, so here the request is repeated sooner. A peer that closes before
// its reply is tried again until connect_timeout; otherwise a peer that closes is tried 12 times.
//
// Threads: one at a time (the Mesh's lock). Nothing here blocks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/event_loop.h"
#include "comm/net/socket.h"
#include "comm/socket/transport/handshake.h"

namespace muster::socket {

// Addresses of one peer: all of a stage at the same time, the next stage when the one before has failed.
using DialStages = std::vector<std::vector<net::SocketAddress>>;

class Dial {
 public:
  enum class State { kTrying, kConnected, kFailed };

  // `self` and `loop` outlive it. `connect_timeout` bounds each wait for the kernel to connect. `gone`: if there are
  // no stages, the reason is that the peer has ended.
  Dial(net::EventLoop& loop, const GroupMember& self, const LinkKey& key, DialStages stages,
       Duration connect_timeout, bool gone = false);
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;
  ~Dial();

  const LinkKey& key() const { return key_; }
  State state() const { return state_; }
  Clock::time_point began() const { return began_; }
  // True if an address has taken the connection, or may have.
  bool MayHaveReached() const;
  // When OnTime has to be called.
  Deadline wake() const;
  void OnTime();

  // kConnected: the proven connection.
  ProvenLink TakeConnection() { return std::move(connected_); }
  // kFailed: "10.1.0.2:40001: Connection refused, 10.2.0.2:40001: No route to host".
  std::string Tried() const;
  // kFailed: no process listens at any address. Without an address: `gone`.
  bool refused() const { return refused_; }
  // kFailed: this process, or its node, had no descriptor for it.
  bool lacked_descriptors() const { return lacked_descriptors_; }

 private:
  struct Attempt {
    net::SocketAddress address;
    UniqueFd fd;  // empty: this attempt has failed
    std::unique_ptr<ConnectorHandshake> handshake;
    enum class Phase { kConnecting, kReply, kWaiting, kTaken } phase = Phase::kConnecting;
    std::string failure;
  };

  void StartStage();
  void StartAttempt(size_t index);
  void RepeatRequests();
  void OnReady(size_t index);
  void Progress(Attempt& attempt);
  void Settle();
  void OnConnectEnd(Attempt& attempt);
  void OnConnected(Attempt& attempt);
  void OnReply(Attempt& attempt);
  void Finish(Attempt& attempt);
  void OnShake(Attempt& attempt, Shake shake);
  void FailAttempt(Attempt& attempt, std::string reason, bool retry);
  void ProveNext();
  void OnStageFailed();
  void RetryLater();
  void Close(Attempt& attempt);
  bool AnyOpen() const;

  net::EventLoop& loop_;
  const GroupMember& self_;
  const LinkKey key_;
  const DialStages stages_;
  const Duration connect_timeout_;
  const Clock::time_point began_ = Clock::now();

  State state_ = State::kTrying;
  size_t stage_ = 0;
  std::vector<Attempt> attempts_;
  Deadline connect_by_ = Deadline::Never();
  Deadline repeat_at_ = Deadline::Never();
  int requests_ = 0;  // of this stage
  Deadline retry_at_ = Deadline::Never();
  int retries_ = 0;
  bool retry_ = false;           // something has failed that may pass
  bool closed_early_ = false;    // a peer has closed before its reply
  bool queue_full_ = false;      // of this stage
  bool queue_was_full_ = false;  // of any: its owner is there
  Deadline queue_by_ = Deadline::Never();
  bool proving_ = false;  // one attempt is past its reply
  bool refused_;
  bool lacked_descriptors_ = false;
  std::vector<std::string> tried_;  // of the stages before
  ProvenLink connected_;
};

}  // namespace muster::socket
