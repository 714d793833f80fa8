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
    root->Start([this](ByteView frame) { at_root.push_back(*Decode<KeyedAllGather>(frame)); },
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

KeyedAllGather PartFor(int rank, Duration limit) {
  return {"round", static_cast<uint64_t>(limit / std::chrono::milliseconds(1)), {{rank, Bytes{1}}}};
}

TEST_F(ExchangesTest, APartIsSentWithTheShortestLimitOfItsRanks) {
  TreeLinks links(*loop, std::move(upstream), std::move(children));
  const LeaveProtocol leaves(roster, false, {2}, {});
  Exchanges exchanges(links, roster, leaves, 1, {[](const auto&) {}, [](const auto&) {}});
  exchanges.Contribute(PartFor(2, std::chrono::hours(1)));
  exchanges.ReceiveFromChild(
      Encode(PartFor(3, std::chrono::milliseconds(100)), ControlType::kKeyedAllGather));
  ASSERT_TRUE(loop.Until([&] { return !at_root.empty(); }));
  EXPECT_EQ(at_root.front().timeout_milliseconds, 100);
}

// A rank that waited longer than its own limit would report the root.
TEST_F(ExchangesTest, TheFirstLimitThatEndsNamesTheMissingRanks) {
  TreeLinks links(*loop, nullptr, std::move(children));
  const LeaveProtocol leaves(roster, true, {0}, {});
  std::vector<Failure> failures;
  Exchanges exchanges(links, roster, leaves, 1,
                      {[](const auto&) {}, [&](const Failure& failure) { failures.push_back(failure); }});
  exchanges.Contribute(PartFor(1, std::chrono::hours(1)));
  exchanges.Contribute(PartFor(2, std::chrono::milliseconds(100)));
  exchanges.Contribute(PartFor(0, std::chrono::hours(2)));
  ASSERT_TRUE(loop.Until([&] { return !failures.empty(); }));
  EXPECT_EQ(failures.front().error.message,
            "the exchange \"round\" was not complete after 100ms: rank 3 on b did not take part");
  EXPECT_EQ(failures.front().rank, 3);
}

}  // namespace
}  // namespace muster::rendezvous
