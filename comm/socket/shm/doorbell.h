// How a rank that works wakes one that sleeps in poll(): a datagram to the sleeper's socket.
//
// A datagram needs no connection and no descriptor of the other: 256 ranks of a node have one descriptor each
// where eventfds would take 256 each. The socket is in a directory that no other user can enter.
//
// Threads: one at a time. Nothing here blocks.
#pragma once

#include <string>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/private_directory.h"
#include "comm/net/socket.h"

namespace muster::socket {

class Doorbell {
 public:
  // Error: kSystem.
  static Result<Doorbell> Open(const net::PrivateDirectory& directory);

  int fd() const { return socket_.fd.get(); }
  const std::string& name() const { return socket_.name.socket(); }

  // Whether the other will wake up; not for now if the kernel has no room. `other`: its socket's address.
  bool Ring(const net::SocketAddress& other) const;
  // At most kDrainedPerWake rings; further ones wake the poll() again.
  static constexpr int kDrainedPerWake = 64;
  void Drain() const;

 private:
  explicit Doorbell(net::PrivateSocket socket) : socket_(std::move(socket)) {}

  net::PrivateSocket socket_;
};

}  // namespace muster::socket
