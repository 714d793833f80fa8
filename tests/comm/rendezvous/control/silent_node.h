// A node that has lost power: the kernel drops what arrives at a listener with a full queue.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "comm/net/socket.h"

namespace muster::rendezvous {

class SilentNode {
 public:
  explicit SilentNode(const std::string& host = "127.0.0.1")
      : listener_(*net::Listen(*net::SocketAddress::FromNumeric(host, 0))) {
    EXPECT_EQ(listen(listener_.get(), 0), 0);
    waiting_ = *net::StartConnect(address());
  }
  net::SocketAddress address() const { return net::LocalAddress(listener_.get()); }

 private:
  UniqueFd listener_;
  UniqueFd waiting_;
};

}  // namespace muster::rendezvous
