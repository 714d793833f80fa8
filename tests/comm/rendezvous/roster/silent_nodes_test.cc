#include "comm/rendezvous/roster/silent_nodes.h"

#include <gtest/gtest.h>

#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SilentNodesTest : public testing::Test {
 protected:
  void Look(const std::vector<std::string>& nodes, Duration patience = milliseconds(1)) {
    silent = std::make_unique<SilentNodes>(
        *loop, patience, net::FreePort(),
        [this, nodes] {
          ++looks;
          return nodes;
        },
        [this](const std::string& node, bool reached) { told[node] = reached; });
  }

  net::TestLoop loop;
  int looks = 0;
  std::map<std::string, bool> told;
  std::unique_ptr<SilentNodes> silent;
};

// The address of many nodes leads to none of them.
TEST_F(SilentNodesTest, ANodeThatIsNotThereIsNotReached) {
  Look({"224.0.0.1"});
  ASSERT_TRUE(loop.Until([&] { return !told.empty(); }));
  EXPECT_EQ(told, (std::map<std::string, bool>{{"224.0.0.1", false}}));
}

TEST_F(SilentNodesTest, NothingIsSaidOfANameThatLeadsHereOrNowhere) {
  Look({"127.0.0.1", "no such host", "224.0.0.1"});
  ASSERT_TRUE(loop.Until([&] { return !told.empty(); }));
  EXPECT_EQ(told.size(), 1u);
}

TEST_F(SilentNodesTest, AGroupThatFormsIsNotLookedAt) {
  Look({"224.0.0.1"}, seconds(10));
  loop.For(milliseconds(50));
  silent.reset();
  EXPECT_EQ(looks, 0);
}

}  // namespace
}  // namespace muster::rendezvous
