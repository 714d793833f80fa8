// A port of this machine on which no process can listen.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "comm/base/unique_fd.h"
#include "comm/net/socket.h"

namespace muster::socket {

class ClosedPort {
 public:
  ClosedPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const net::SocketAddress any = net::SocketAddress::AnyIpv4(0);
    EXPECT_EQ(bind(fd_.get(), any.get(), any.length()), 0);
  }
  uint16_t number() const { return net::LocalAddress(fd_.get()).port(); }

 private:
  UniqueFd fd_;
};

}  // namespace muster::socket
