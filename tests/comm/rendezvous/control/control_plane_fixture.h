// A group of five ranks on three nodes in one process, for the tests of the control plane.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {

// Rank 0 is the root, on a with rank 1; rank 2 leads b with rank 3; rank 4 is alone on c.
class ControlPlaneTest : public testing::Test {
 protected:
  void Form(const std::function<void(JoinRequest&)>& change = [](JoinRequest&) {}) {
    auto requests = MakeRequests({"a", "a", "b", "b", "c"});
    for (JoinRequest& request : requests) change(request);
    group = std::make_unique<TestGroup>(loop, requests);
    ASSERT_TRUE(group->AllFormed());
  }
  TestRank& rank(size_t number) { return (*group)[number]; }
  // All messages of before have arrived then.
  bool Exchange() {
    for (int i = 0; i < 5; ++i)
      rank(static_cast<size_t>(i)).plane().exchanges().Contribute({"all", 60000, {{i, {}}}});
    return loop.Until([this] { return !rank(0).exchanged.empty(); });
  }
  bool Released(size_t number) { return rank(number).released == 1; }

  net::TestLoop loop;
  std::unique_ptr<TestGroup> group;
};

}  // namespace muster::rendezvous
