// Shared by the tests of failures over sockets and in shared memory.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/comm/socket/fake_group.h"

namespace muster::socket {

inline Status AllReduceFloats(Communicator& c, size_t count, const CallOptions& options = {}) {
  std::vector<float> data(count, 1);
  return c.AllReduce(std::span(data), ReduceOp::kSum, options);
}

// After a first call, `leaver` of three ranks on gpu01 and two on gpu02 leaves.
inline void ExpectTheLeaverIsNamed(int leaver, const SocketOptions& options) {
  FakeWorld world(BlockLayout({3, 2}), options);
  world.Run([](Communicator& c) { ASSERT_EQ(MessageOf(c.Barrier()), ""); });
  world.Leave(leaver);
  std::vector<int> rest;
  for (int rank = 0; rank < world.size(); ++rank) {
    if (rank != leaver) rest.push_back(rank);
  }
  world.RunRanks(rest, [&](Communicator& c) {
    const Status status = AllReduceFloats(c, 3);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kPeerLost);
    EXPECT_EQ(status.error().message, fmt::format("rank {} on {} left the group before AllReduce #2 f32[3]",
                                                  leaver, leaver < 3 ? "gpu01" : "gpu02"));
  });
}

}  // namespace muster::socket
