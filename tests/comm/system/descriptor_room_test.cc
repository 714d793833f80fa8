#include "comm/system/descriptor_room.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace muster::net {
namespace {

// The limit is of the process: each case has one of its own.
int WithLimit(rlim_t soft, rlim_t hard, const std::function<bool()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit limit{soft, hard};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(2);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

rlim_t SoftLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

TEST(DescriptorRoom, WhatIsEnoughStays) {
  EXPECT_EQ(WithLimit(256, 512,
                      [] {
                        return MakeRoomForDescriptors(100, "the root") && SoftLimit() == 256 &&
                               !DescriptorLimitBefore();
                      }),
            0);
}

TEST(DescriptorRoom, IsMadeUpToTheHardLimit) {
  EXPECT_EQ(WithLimit(64, 512,
                      [] {
                        return MakeRoomForDescriptors(400, "the root") && SoftLimit() == 512 &&
                               DescriptorLimitBefore() && DescriptorLimitBefore()->rlim_cur == 64;
                      }),
            0);
}

TEST(DescriptorRoom, TooLittleIsSaidBeforeItBites) {
  EXPECT_EQ(WithLimit(64, 128,
                      [] {
                        const Status room = MakeRoomForDescriptors(1000, "the root of 2000 ranks");
                        return !room && room.error().code == Code::kSystem &&
                               room.error().message ==
                                   "the root of 2000 ranks needs 1048 open files, but the hard limit is 128 "
                                   "(ulimit -Hn)" &&
                               SoftLimit() == 64;
                      }),
            0);
}

TEST(DescriptorRoom, AllOfItOnRequest) {
  EXPECT_EQ(WithLimit(64, 128, [] { return RaiseDescriptorLimit() == uint64_t{128} && SoftLimit() == 128; }),
            0);
}

}  // namespace
}  // namespace muster::net
