// The remaining time in which the other end of a handshake may prove itself. Only the peer's time counts: the
// clock stops while this side's own prover is busy, because other connections may be before it in the
// prover's queue. A message that is read after the limit may have come before it, while the loop did not run (a stopped or
// suspended process): the peer then has the whole limit again. A handshake has a few messages, so it ends.
//
// Runs on one EventLoop.
#pragma once

#include <functional>

#include "comm/base/deadline.h"
#include "comm/net/event_loop.h"

namespace muster::rendezvous {

class HandshakeClock {
 public:
  // `own_prover`: it is this side's prover that has not answered for `limit`; the clock then starts another
  // `limit` for it. May destroy the clock.
  using OnExpired = std::function<void(bool own_prover)>;

  // The peer's turn, from now on.
  HandshakeClock(net::EventLoop& loop, Duration limit, OnExpired on_expired);
  HandshakeClock(const HandshakeClock&) = delete;
  HandshakeClock& operator=(const HandshakeClock&) = delete;

  // After anything that may have changed whose turn it is.
  void SetOwnTurn(bool own);

 private:
  void Start(Duration span);

  net::EventLoop& loop_;
  const Duration limit_;
  const OnExpired on_expired_;
  bool own_ = false;
  Duration left_;  // of the peer's time, at since_
  Clock::time_point since_;
  net::Timer timer_;
};

}  // namespace muster::rendezvous
