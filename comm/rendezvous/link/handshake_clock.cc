#include "comm/rendezvous/link/handshake_clock.h"

#include <utility>

namespace muster::rendezvous {

HandshakeClock::HandshakeClock(net::EventLoop& loop, Duration limit, OnExpired on_expired)
    : loop_(loop), limit_(limit), on_expired_(std::move(on_expired)), left_(limit), since_(Clock::now()) {
  Start(left_);
}

void HandshakeClock::SetOwnTurn(bool own) {
  if (own_ == own) return;
  const auto now = Clock::now();
  if (own) left_ -= now - since_;
  if (left_ <= Duration::zero()) left_ = limit_;
  own_ = own;
  since_ = now;
  Start(own ? limit_ : left_);
}

void HandshakeClock::Start(Duration span) {
  timer_ = loop_.After(span, [this] {
    if (own_) Start(limit_);
    // A copy: it may destroy the clock.
    const OnExpired on_expired = on_expired_;
    on_expired(own_);
  });
}

}  // namespace muster::rendezvous
