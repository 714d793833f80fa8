// A leader's connection to the root. Tries all its possible addresses and ports in parallel, repeatedly,
// until one proves to be the root of this meeting. Any other listener there (another group, a foreign
// process, silent or not) only costs its own attempt. An address that closes connections slowly, as a root under attack
// does, gets up to eight attempts in parallel.
//
// The root takes the first port that is free on its node. If foreign processes hold all candidates, further
// addresses are tried one by one (port_sweep.h), quickly. Without such processes, this begins after a while
// and is slow.
//
// Runs on one EventLoop. Stops by itself after the first link; destroying it stops it as well.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/auth/handshake/handshake.h"
#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/link/port_sweep.h"
#include "comm/rendezvous/link/retry_budget.h"

namespace muster::rendezvous {

// Between two attempts at a candidate. A leader that searches the root on all nodes has 16 candidates on each.
Duration LongestPause(size_t candidates);

class RootDialer {
 public:
  struct Params {
    auth::MeetingId meeting{};
    Duration handshake_timeout{};
    Duration connect_timeout{};
    bool ends_when_rejected = false;  // also by a peer that has not proven to be the root
    size_t leaders = 1;               // that search the root at the same time
  };
  // Start it before returning: until then it still calls the dialer.
  using OnLink = std::function<void(std::unique_ptr<net::FrameStream> link)>;
  // The proven root itself rejects this process: a retry is useless. Or ends_when_rejected.
  using OnRejected = std::function<void(const Error& error)>;

  RootDialer(net::EventLoop& loop, Params params, auth::Prover& prover, OnLink on_link,
             OnRejected on_rejected);
  RootDialer(const RootDialer&) = delete;
  RootDialer& operator=(const RootDialer&) = delete;
  ~RootDialer();

  // May be called again, as names are resolved; existing candidates stay.
  void AddCandidates(const std::vector<net::SocketAddress>& candidates);

  // Further addresses of the root, tried after the candidates, most likely first.
  struct Further {
    std::function<size_t()> count;  // may grow
    std::function<net::SocketAddress(size_t index)> at;
  };
  void SetFurther(Further further);

  // The reason of the failure so far, the most useful first: "198.18.1.1:61234: the secret differs". Empty:
  // nothing tried so far.
  std::string Problem() const;
  // A process that claims to be in this group rejected this one, or could not prove its identity.
  const std::optional<Error>& rejection() const { return rejection_; }

 private:
  struct Attempt;
  void AddAttempt(const net::SocketAddress& address, std::shared_ptr<RetryBudget> retries);
  void Sweep();
  void TryFurther();
  bool StrangersHoldAll() const;
  void Try(Attempt& attempt);
  void OnConnected(Attempt& attempt, UniqueFd fd);
  void OnFrame(Attempt& attempt, ByteView frame);
  void OnClosed(Attempt& attempt, const Error& error);
  void TryBeside(const Attempt& attempt);
  void OnHandshake(Attempt& attempt, auth::HandshakeResult result);
  void Retry(Attempt& attempt, std::string problem, Duration at_least);
  void StopAttempt(Attempt& attempt);
  void Stop();
  Duration Patience(const Attempt& attempt, Duration limit) const;

  net::EventLoop& loop_;
  Params params_;
  auth::Prover& prover_;
  OnLink on_link_;
  OnRejected on_rejected_;
  auth::EphemeralKey key_;  // until there is a link
  size_t candidates_ = 0;
  std::set<std::string> known_;                     // the addresses of attempts_: one search has thousands
  std::vector<std::unique_ptr<Attempt>> attempts_;  // one for each candidate, more for one that closes slowly
  std::vector<std::unique_ptr<Attempt>> swept_;     // of further addresses; reused
  Further further_;
  PortSweep sweep_;
  Clock::time_point began_ = Clock::now();
  net::Timer sweep_timer_;
  std::optional<Error> rejection_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // a handshake's end may destroy this
};

}  // namespace muster::rendezvous
