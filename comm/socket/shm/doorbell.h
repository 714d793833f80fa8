// Wakes a rank that sleeps in poll(): a working rank sends a datagram to the sleeper's socket.
//
// A datagram needs no connection and no descriptor of the other rank: 256 ranks of a node have one descriptor
// each, against 256 each with eventfds. The socket is in a directory that no other user can enter.
//
// Threads: one at a time. Nothing here blocks.
#pragma once

#include <string>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/private_directory.h"
#include "comm/net/socket.h"

namespace muster::socket {

enum class Delivery {
  kDone,
  kNoRoom,    // in the kernel, for now
  kNoSocket,  // it cannot be reached: it has ended, or another program has removed the name
};

class Doorbell {
 public:
  // Error: kSystem.
  static Result<Doorbell> Open(const net::PrivateDirectory& directory);

  int fd() const { return socket_.fd.get(); }
  const std::string& name() const { return socket_.name.socket(); }

  // `other`: the other rank's socket.
  Delivery Ring(const net::SocketAddress& other) const;
  // At most kDrainedPerWake rings; further ones wake the poll() again.
  static constexpr int kDrainedPerWake = 64;
  void Drain() const;

 private:
  explicit Doorbell(net::PrivateSocket socket) : socket_(std::move(socket)) {}

  net::PrivateSocket socket_;
};

}  // namespace muster::socket
