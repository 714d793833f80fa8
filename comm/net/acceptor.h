// Accepts the connections of one listening socket: at most kAcceptsPerWake before other work of the loop has
// its turn, and after the timers that are due. So a peer that connects in a loop delays no heartbeat. Without
// a free descriptor it pauses for 100 ms, and logs that once a minute.
//
// Runs on one EventLoop; owns the listener. Nothing blocks.
#pragma once

#include <functional>
#include <memory>

#include "comm/net/event_loop.h"
#include "comm/net/socket.h"

namespace muster::net {

class Acceptor {
 public:
  static constexpr int kAcceptsPerWake = 64;
  // May pause or destroy the Acceptor.
  using OnAccept = std::function<void(UniqueFd fd, const SocketAddress& peer)>;

  Acceptor(EventLoop& loop, UniqueFd listener, OnAccept on_accept);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor();

  Status Start();
  // While paused, new peers wait in the kernel's queue.
  void SetPaused(bool paused);
  int fd() const { return listener_.get(); }

 private:
  void OnReadable();
  void AcceptSome();
  void Rest(const Error& error);
  void UpdateInterest();

  EventLoop& loop_;
  UniqueFd listener_;
  OnAccept on_accept_;
  bool paused_ = false;
  Deadline next_complaint_ = Deadline::At({});
  Timer rest_timer_;
  Timer accept_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::net
