// A thread that may not bind the privileged ports, as that of a user other than root.
#pragma once

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "comm/net/socket.h"

namespace muster::net {

class OrdinaryPorts {
 public:
  static constexpr uint16_t kPrivileged = 80;

  OrdinaryPorts() {
    EXPECT_EQ(syscall(SYS_capget, &header_, before_), 0);
    __user_cap_data_struct without[_LINUX_CAPABILITY_U32S_3] = {before_[0], before_[1]};
    without[0].effective &= ~(1u << CAP_NET_BIND_SERVICE);
    EXPECT_EQ(syscall(SYS_capset, &header_, without), 0);
  }
  OrdinaryPorts(const OrdinaryPorts&) = delete;
  OrdinaryPorts& operator=(const OrdinaryPorts&) = delete;
  ~OrdinaryPorts() { EXPECT_EQ(syscall(SYS_capset, &header_, before_), 0); }

  // Not if net.ipv4.ip_unprivileged_port_start is lower, as in a container.
  static bool Exist() {
    int error = 0;
    const auto bound = Listen(*SocketAddress::FromNumeric("127.0.0.1", kPrivileged), &error);
    return !bound && error == EACCES;
  }

 private:
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[_LINUX_CAPABILITY_U32S_3] = {};
};

}  // namespace muster::net
