// A port for MASTER_PORT, which is a part of the name of a launch. It is bound as long as this object lives: no test beside
// this one has the same.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace muster::testing_support {

class BoundPort {
 public:
  BoundPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    text_ = std::to_string(ntohs(address.sin_port));
  }
  BoundPort(const BoundPort&) = delete;
  BoundPort& operator=(const BoundPort&) = delete;
  ~BoundPort() { close(socket_); }

  const std::string& text() const { return text_; }

 private:
  int socket_;
  std::string text_;
};

}  // namespace muster::testing_support
