#include "comm/rendezvous/liveness/exchanges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

// A leader, rank 2, with rank 3 below it; ranks 0 and 1 are elsewhere.
class ExchangesTest : public testing::Test {
 protected:
  ExchangesTest() {
    auto [near, far] = net::SocketPair();
    root = std::make_unique<net::FrameStream>(*loop, std::move(far), kLongestMessage);
    root->Start([this](ByteView frame) { at_root.push_back(*DecodeKeyedAllGather(frame)); },
                [](const Error&) {});
    upstream = std::make_unique<net::FrameStream>(*loop, std::move(near), kLongestMessage);
    upstream->Start([](ByteView) {}, [](const Error&) {});
    auto [below, follower_end] = net::SocketPair();
    follower = std::move(follower_end);
    children = std::make_unique<ChildLinks>();
    const auto source = children->Add(
        std::make_unique<net::FrameStream>(*loop, std::move(below), kLongestMessage), "rank 3", true);
    children->Find(source)->ranks = {3};
    roster.nodes = {{"a", {}}, {"b", {}}};
    for (int rank = 0; rank < 4; ++rank) roster.members.push_back({rank / 2, rank % 2, 100 + rank, {}});
  }
  static KeyedAllGather Part(int rank) { return {"round", 1000, {{rank, Bytes{1}}}}; }

  net::TestLoop loop;
  std::unique_ptr<net::FrameStream> root;
  std::unique_ptr<net::FrameStream> upstream;
  UniqueFd follower;
  std::unique_ptr<ChildLinks> children;
  Roster roster;
  std::vector<KeyedAllGather> at_root;
};

TEST_F(ExchangesTest, ALeaderSendsThePartsOfAllItsRanksAsOneMessage) {
  TreeLinks links(*loop, std::move(upstream), std::move(children));
  const LeaveProtocol leaves(roster, false, {2}, {});
  Exchanges exchanges(links, roster, leaves, 1, {[](const auto&) {}, [](const auto&) {}});
  exchanges.Contribute(Part(2));
  exchanges.ReceiveFromChild(Encode(Part(3), ControlType::kKeyedAllGather));
  ASSERT_TRUE(loop.Until([&] { return !at_root.empty(); }));
  EXPECT_EQ(at_root.front().timeout_milliseconds, 1000);
  EXPECT_THAT(at_root.front().entries, ElementsAre(Pair(2, Bytes{1}), Pair(3, Bytes{1})));
}

TEST_F(ExchangesTest, APartDoesNotWaitForARankThatGivesNone) {
  TreeLinks links(*loop, std::move(upstream), std::move(children));
  const LeaveProtocol leaves(roster, false, {2}, {});
  Exchanges exchanges(links, roster, leaves, 1, {[](const auto&) {}, [](const auto&) {}});
  exchanges.Contribute(Part(2));
  ASSERT_TRUE(loop.Until([&] { return !at_root.empty(); }));
  exchanges.ReceiveFromChild(Encode(Part(3), ControlType::kKeyedAllGather));
  ASSERT_TRUE(loop.Until([&] { return at_root.size() == 2; }));
  EXPECT_THAT(at_root.front().entries, SizeIs(1));
  EXPECT_THAT(at_root.back().entries, ElementsAre(Pair(3, Bytes{1})));
}

}  // namespace
}  // namespace muster::rendezvous
