#include "comm/rendezvous/liveness/leave_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using End = LeaveProtocol::End;
using PassUp = LeaveProtocol::PassUp;

// Rank 0 is the root, on a with rank 1; rank 2 leads b with rank 3; rank 4 is alone on c.
const Roster kFiveRanks{"",
                        {{"a", {}}, {"b", {}}, {"c", {}}},
                        {{0, 0, 10, {}}, {0, 1, 11, {}}, {1, 0, 12, {}}, {1, 1, 13, {}}, {2, 0, 14, {}}}};

LeaveProtocol Root() { return {kFiveRanks, true, {0}, {{1, {1}}, {2, {2, 3}}, {3, {4}}}}; }
// Rank 3 has connected by itself, and its leader's hello had it as well.
LeaveProtocol RootTwice() { return {kFiveRanks, true, {0}, {{1, {1}}, {2, {2, 3}}, {3, {4}}, {4, {3}}}}; }
LeaveProtocol Leader() { return {kFiveRanks, false, {2}, {{1, {3}}}}; }
LeaveProtocol Follower() { return {kFiveRanks, false, {3}, {}}; }

struct Message {
  const char* name;
  LeaveProtocol (*process)();
  bool has_upstream;
  std::vector<int> before;
  std::vector<int> ranks;
  std::set<int> left;
  PassUp pass_up;
  std::vector<LeaveProtocol::Source> released;
};
class LeaveMessage : public testing::TestWithParam<Message> {};

TEST_P(LeaveMessage, LeadsTo) {
  const Message& given = GetParam();
  LeaveProtocol leaves = given.process();
  leaves.Take(given.before, given.has_upstream);
  leaves.TakeUnsent();
  const LeaveProtocol::Taken taken = leaves.Take(given.ranks, given.has_upstream);
  EXPECT_EQ(taken.left, given.left);
  EXPECT_EQ(taken.pass_up, given.pass_up);
  EXPECT_EQ(taken.released, given.released);
  EXPECT_EQ(leaves.TakeUnsent(), given.has_upstream ? given.ranks : std::vector<int>{});
  EXPECT_THAT(leaves.TakeUnsent(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, LeaveMessage,
    testing::Values(Message{"ALeadersRootReleasesIt", Root, false, {2}, {3}, {3}, PassUp::kNever, {2}},
                    Message{"TheRootWaitsForANodesOtherRank", Root, false, {}, {2}, {2}, PassUp::kNever, {}},
                    Message{"TwoNodesAtOnce", Root, false, {2}, {3, 4}, {3, 4}, PassUp::kNever, {2, 3}},
                    Message{"OfTwoConnections", RootTwice, false, {2}, {3}, {3}, PassUp::kNever, {2, 4}},
                    Message{"OwnRanksHaveNoChild", Root, false, {}, {0}, {0}, PassUp::kNever, {}},
                    Message{"TwiceCountsOnce", Root, false, {4}, {4}, {}, PassUp::kNever, {}},
                    Message{"OfNoRank", Root, false, {}, {-1, 5}, {}, PassUp::kNever, {}},
                    Message{"ALeaderCollects", Leader, true, {}, {3}, {3}, PassUp::kSoon, {1}},
                    Message{"TheLastOfANodePassesAtOnce", Leader, true, {3}, {2}, {2}, PassUp::kNow, {}},
                    Message{"WithoutAProcessAbove", Leader, false, {3}, {2}, {2}, PassUp::kNever, {}},
                    Message{"AFollowerPassesAtOnce", Follower, true, {}, {3}, {3}, PassUp::kNow, {}}),
    [](const auto& given) { return given.param.name; });

struct Question {
  const char* name;
  LeaveProtocol (*process)();
  bool has_upstream;
  bool begun;
  std::vector<int> left;
  std::vector<LeaveProtocol::Source> gone;
  End expected;
};
class MayExit : public testing::TestWithParam<Question> {};

TEST_P(MayExit, When) {
  const Question& given = GetParam();
  LeaveProtocol leaves = given.process();
  if (given.begun) {
    EXPECT_TRUE(leaves.Begin());
    EXPECT_FALSE(leaves.Begin());
  }
  leaves.Take(given.left, given.has_upstream);
  for (const LeaveProtocol::Source child : given.gone) leaves.Forget(child);
  EXPECT_EQ(leaves.MayEnd(given.has_upstream), given.expected);
  EXPECT_TRUE(leaves.Release());
  EXPECT_FALSE(leaves.Release());
  EXPECT_EQ(leaves.MayEnd(given.has_upstream), End::kNotYet) << "released already";
}

INSTANTIATE_TEST_SUITE_P(
    All, MayExit,
    testing::Values(
        Question{"RootOfRanksAtWork", Root, false, true, {0, 1, 2, 3}, {1, 2}, End::kNotYet},
        Question{"RootWithChildren", Root, false, true, {0, 1, 2, 3, 4}, {1}, End::kWhenChildrenAreGone},
        Question{"RootAlone", Root, false, true, {0, 1, 2, 3, 4}, {1, 2, 3}, End::kNow},
        Question{"LeaderWaitsForItsRelease", Leader, true, true, {2, 3}, {1}, End::kNotYet},
        Question{"LeaderWithoutRoot", Leader, false, true, {2, 3}, {}, End::kWhenChildrenAreGone},
        Question{"LeaderWithoutRootAlone", Leader, false, true, {2, 3}, {1}, End::kNow},
        Question{"LeaderWithoutRootOfARankAtWork", Leader, false, true, {2}, {}, End::kNotYet},
        Question{"LeaderWithoutRootOfALostRank", Leader, false, true, {2}, {1}, End::kNow},
        Question{"LeaderWithoutRootAtWork", Leader, false, false, {3}, {}, End::kNotYet},
        Question{"FollowerWaitsForItsRelease", Follower, true, true, {3}, {}, End::kNotYet},
        Question{"FollowerWithoutLeader", Follower, false, true, {3}, {}, End::kNow}),
    [](const auto& given) { return given.param.name; });

TEST(LeaveProtocol, OrphansCountAsGoneAndArePassedUp) {
  LeaveProtocol leaves = Root();
  leaves.Take({3}, false);
  leaves.TakeOrphans();
  EXPECT_THAT(leaves.TakeUnsent(), ElementsAre(1, 2, 4));
  EXPECT_THAT(leaves.left(), ElementsAre(1, 2, 3, 4));
}

TEST(LeaveProtocol, CountsWhoHasLeft) {
  LeaveProtocol leaves = Root();
  leaves.Take({1, 2, 99, -1}, false);
  EXPECT_TRUE(leaves.HasLeft(1));
  EXPECT_FALSE(leaves.HasLeft(0));
  EXPECT_TRUE(leaves.AllHaveLeft({1, 2}));
  EXPECT_FALSE(leaves.AllHaveLeft({1, 3}));
  EXPECT_TRUE(leaves.AllHaveLeft({}));
}

double ProcessorSeconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// 20 ms of a processor; many seconds if each message looked at all nodes.
TEST(LeaveProtocol, AMessageCostsTheSameOnAnyNumberOfNodes) {
  constexpr int kNodes = 20000;
  Roster roster;
  LeaveProtocol::Children children;
  for (int rank = 0; rank < kNodes; ++rank) {
    roster.nodes.push_back({"n", {}});
    roster.members.push_back({rank, 0, 10, {}});
    if (rank > 0) children[static_cast<LeaveProtocol::Source>(rank)] = {rank};
  }
  LeaveProtocol leaves(roster, true, {0}, std::move(children));
  const double limit = ProcessorSeconds() + 3;
  size_t released = 0;
  for (int rank = 1; rank < kNodes && ProcessorSeconds() < limit; ++rank)
    released += leaves.Take({rank}, false).released.size();
  EXPECT_EQ(released, kNodes - 1);
}

struct Claim {
  const char* name;
  LeaveProtocol (*process)();
  int rank;
  bool at_work;
};
class NewProcess : public testing::TestWithParam<Claim> {};

TEST_P(NewProcess, CannotBeARankAtWork) {
  LeaveProtocol leaves = GetParam().process();
  leaves.Take({4}, false);
  const std::optional<Error> error = leaves.FindAtWork(GetParam().rank);
  ASSERT_EQ(error.has_value(), GetParam().at_work);
  if (!error) return;
  EXPECT_EQ(error->code, Code::kDisagreement);
  EXPECT_THAT(error->message, HasSubstr(" is already at work in this launch's present group, as pid 1"));
}

INSTANTIATE_TEST_SUITE_P(
    All, NewProcess,
    testing::Values(Claim{"OfTheOwnNode", Leader, 3, true}, Claim{"OfTheProcessItself", Leader, 2, true},
                    Claim{"OfAnotherNode", Leader, 0, true}, Claim{"ThatHasLeft", Leader, 4, false},
                    Claim{"OfNoRank", Leader, 5, false}, Claim{"OfTheLeader", Follower, 2, false},
                    Claim{"OfTheRootsFollower", Root, 1, true}),
    [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace muster::rendezvous
