// Accepts the connections of one listening socket: at most kAcceptsPerWake before other work of the loop has
// its turn, and after the timers that are due. So a peer that connects in a loop delays no heartbeat. Without
// a free descriptor it pauses.
//
// Runs on one EventLoop; owns the listener. Nothing blocks.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "comm/net/event_loop.h"
#include "comm/net/socket.h"

namespace muster::net {

// Failures of accept(2), mostly because there is no free descriptor.
class AcceptFailures {
 public:
  static constexpr Duration kPause = std::chrono::milliseconds(100);  // after each

  // At most once a minute.
  void Warn(const Error& error);

 private:
  Deadline next_warning_ = Deadline::At({});
};

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
  AcceptFailures failures_;
  Timer rest_timer_;
  Timer accept_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::net
