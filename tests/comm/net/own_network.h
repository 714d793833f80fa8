// A network namespace of its own, for tests that run as root.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <string>

#include "comm/base/unique_fd.h"

namespace muster::net {

// Commands: waits until an interface has a link. The kernel notes that a moment after its peer is up.
inline std::string AwaitLink(const std::string& interface) {
  return "until ip link show " + interface + " | grep -q 'state UP'; do :; done;";
}

// This thread, and those that it starts, in a network namespace of its own, with the loopback interface and what `commands` make.
class OwnNetwork {
 public:
  explicit OwnNetwork(const std::string& commands)
      : before_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    made_ = unshare(CLONE_NEWNET) == 0 && system(("set -e; ip link set lo up; " + commands).c_str()) == 0;
  }
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;
  ~OwnNetwork() { EXPECT_EQ(setns(before_.get(), CLONE_NEWNET), 0); }
  bool made() const { return made_; }

 private:
  UniqueFd before_;
  bool made_ = false;
};

}  // namespace muster::net
