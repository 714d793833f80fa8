#include "comm/net/acceptor.h"

#include <sys/epoll.h>

#include "comm/log/log.h"
#include "comm/system/fork_guard.h"

namespace muster::net {

void AcceptFailures::Warn(const Error& error) {
  if (!next_warning_.Expired()) return;
  LogWarning("{}; trying again", error.message);
  next_warning_ = Deadline::After(std::chrono::minutes(1));
}

Acceptor::Acceptor(EventLoop& loop, UniqueFd listener, OnAccept on_accept)
    : loop_(loop), listener_(std::move(listener)), on_accept_(std::move(on_accept)) {
  CloseInForkedChildren(listener_.get());
}

Acceptor::~Acceptor() {
  loop_.Forget(listener_.get());
  ForgetForForks(listener_.get());
}

Status Acceptor::Start() {
  return loop_.Watch(listener_.get(), EPOLLIN, [this](uint32_t) { OnReadable(); });
}

void Acceptor::SetPaused(bool paused) {
  if (paused_ == paused) return;
  paused_ = paused;
  UpdateInterest();
}

// As a timer, so that those that are due run first.
void Acceptor::OnReadable() {
  if (!accept_timer_.pending()) accept_timer_ = loop_.After(Duration::zero(), [this] { AcceptSome(); });
}

void Acceptor::AcceptSome() {
  const std::weak_ptr<bool> alive = alive_;
  for (int i = 0; i < kAcceptsPerWake && !alive.expired() && !paused_; ++i) {
    SocketAddress peer;
    Result<UniqueFd> fd = Accept(listener_.get(), &peer);
    if (!fd) return Rest(fd.error());
    if (!*fd) return;
    const OnAccept handler = on_accept_;
    handler(*std::move(fd), peer);
  }
}

void Acceptor::Rest(const Error& error) {
  failures_.Warn(error);
  rest_timer_ = loop_.After(AcceptFailures::kPause, [this] { UpdateInterest(); });
  UpdateInterest();
}

// A listener that is not accepted from must not be watched either: the loop would spin.
void Acceptor::UpdateInterest() {
  loop_.Change(listener_.get(), paused_ || rest_timer_.pending() ? 0U : static_cast<uint32_t>(EPOLLIN));
}

}  // namespace muster::net
