// The limit on descriptors of a test's process.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "comm/base/unique_fd.h"
#include "tests/comm/net/test_loop.h"

namespace muster::net {

// Room for `more` descriptors than are open, as long as it lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int more) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit lowered{static_cast<rlim_t>(OpenDescriptors() + more), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lowered), 0);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// All descriptors that the limit leaves.
inline std::vector<UniqueFd> TakeAllDescriptors() {
  std::vector<UniqueFd> all;
  for (int fd = dup(0); fd >= 0; fd = dup(0)) all.emplace_back(fd);
  return all;
}

}  // namespace muster::net
