// Takes the connections off one listening socket. Where the process has no descriptor left, it rests for a
// moment instead of spinning on a socket that stays readable.
//
// Lives on one EventLoop; owns the listener. Nothing blocks.
#pragma once

#include <functional>
#include <memory>

#include "comm/net/event_loop.h"
#include "comm/net/socket.h"

namespace muster {

class Acceptor {
 public:
  // May pause or destroy the Acceptor.
  using OnAccept = std::function<void(UniqueFd fd, const SocketAddress& peer)>;

  Acceptor(EventLoop& loop, UniqueFd listener, OnAccept on_accept);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor();

  Status Start();
  // While paused, who connects waits in the kernel's queue.
  void SetPaused(bool paused);
  int fd() const { return listener_.get(); }

 private:
  void AcceptAll();
  void Rest(const Error& error);
  void UpdateInterest();

  EventLoop& loop_;
  UniqueFd listener_;
  OnAccept on_accept_;
  bool paused_ = false;
  bool resting_ = false;
  bool complained_ = false;
  EventLoop::TimerId timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster
