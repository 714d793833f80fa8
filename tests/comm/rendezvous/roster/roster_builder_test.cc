#include "comm/rendezvous/roster/roster_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/rendezvous/members.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;

Placement PlacementOf(const std::vector<std::pair<std::string, std::vector<int>>>& nodes,
                      bool with_ranks = true) {
  Placement placement;
  size_t world_size = 0;
  for (const auto& [name, ranks] : nodes) world_size += ranks.size();
  placement.node_of_rank.own().resize(with_ranks ? world_size : 0);
  for (const auto& [name, ranks] : nodes) {
    if (with_ranks) {
      for (const int rank : ranks) {
        placement.node_of_rank.own()[static_cast<size_t>(rank)] = static_cast<int>(placement.nodes.size());
      }
    }
    placement.nodes.push_back({name, static_cast<int>(ranks.size())});
  }
  return placement;
}

const Placement kTwoNodes = PlacementOf({{"gpu01", {0, 1}}, {"gpu02", {2, 3}}});

// The root is rank 0 on gpu01; the others come from a source of the rank's number.
class RosterBuilderTest : public testing::Test {
 protected:
  RosterBuilderTest() { Make(kTwoNodes); }
  void Make(Placement placement) {
    roster_builder.emplace(PartyOf(0, "gpu01", 4, 0, 2), std::move(placement));
  }
  void AddAll() {
    for (const auto& [rank, node] : {std::pair(0, "gpu01"), {1, "gpu01"}, {2, "gpu02"}, {3, "gpu02"}}) {
      ExpectWelcome(static_cast<RosterBuilder::Source>(rank), HelloOf({PartyOf(rank, node, 4, rank % 2, 2)}));
    }
  }
  void ExpectWelcome(RosterBuilder::Source source, const Hello& hello) {
    const std::optional<Failure> failure = roster_builder->Add(source, hello);
    EXPECT_FALSE(failure) << failure->error.message;
  }
  void ExpectFailure(const std::optional<Failure>& failure, const Error& error) {
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->error, error);
  }

  std::optional<RosterBuilder> roster_builder;
};

TEST_F(RosterBuilderTest, IsCompleteWhenEveryRankIsThere) {
  EXPECT_FALSE(roster_builder->complete());
  AddAll();
  EXPECT_TRUE(roster_builder->complete());
  EXPECT_EQ(roster_builder->Describe(), "4/4 ranks");
}

TEST_F(RosterBuilderTest, ARefusedRankIsTheGroupsFailureWhateverElseItSays) {
  ProcessInfo refused = PartyOf(3, "gpu02", 8);
  refused.refused = Error{Code::kBadEnvironment, "rank 3 on gpu02 was refused", "look there"};
  EXPECT_EQ(roster_builder->Add(2, HelloOf({PartyOf(2, "gpu02", 4), refused})),
            (Failure{*refused.refused, 3, -1, ""}));
}

TEST_F(RosterBuilderTest, TheRosterIsOrderedByRank) {
  ProcessInfo second = PartyOf(3, "gpu02", 4, 0, 2);
  second.claims[0].payload = {7};
  ExpectWelcome(2, HelloOf({second, PartyOf(2, "gpu02", 4, 1, 2)}, {"10.0.0.2"}));
  ExpectWelcome(0, HelloOf({PartyOf(0, "gpu01", 4, 0, 2)}));
  ExpectWelcome(1, HelloOf({PartyOf(1, "gpu01", 4, 1, 2)}, {"10.0.0.9"}));
  roster_builder->SetAddresses("gpu01", {"10.0.0.1", "10.9.0.1"});
  const Result<Roster> roster = roster_builder->MakeRoster();
  ASSERT_TRUE(roster) << roster.error().message;
  EXPECT_EQ(roster->nodes,
            (std::vector<Roster::Node>{{"gpu01", {"10.0.0.1", "10.9.0.1"}}, {"gpu02", {"10.0.0.2"}}}));
  EXPECT_EQ(roster->members,
            (std::vector<Roster::Member>{
                {0, 0, 1000, {}, 0}, {0, 1, 1001, {}, 1}, {1, 1, 1002, {}, 2}, {1, 0, 1003, {7}, 3}}));
  EXPECT_EQ(roster->group_id, "");
}

TEST_F(RosterBuilderTest, NodesAreNumberedByTheirLowestRank) {
  ExpectWelcome(1, HelloOf({PartyOf(3, "a", 4), PartyOf(1, "a", 4)}));
  ExpectWelcome(2, HelloOf({PartyOf(0, "z", 4), PartyOf(2, "z", 4)}));
  const Result<Roster> roster = roster_builder->MakeRoster();
  ASSERT_TRUE(roster);
  EXPECT_EQ(roster->nodes[0].name, "z");
  EXPECT_EQ(roster->nodes[1].name, "a");
}

TEST_F(RosterBuilderTest, UnknownLocalRanksFollowTheOrderOfTheRanks) {
  ExpectWelcome(1, HelloOf({PartyOf(3, "a", 4), PartyOf(1, "a", 4)}));
  ExpectWelcome(2, HelloOf({PartyOf(2, "z", 4), PartyOf(0, "z", 4)}));
  const Result<Roster> roster = roster_builder->MakeRoster();
  ASSERT_TRUE(roster);
  EXPECT_THAT(roster->RanksOn(0), ElementsAre(0, 2));
  EXPECT_THAT(roster->RanksOn(1), ElementsAre(1, 3));
}

TEST_F(RosterBuilderTest, LocalRanksMustCountFromZero) {
  ExpectWelcome(0, HelloOf({PartyOf(0, "gpu01", 4, 0, 2), PartyOf(1, "gpu01", 4, 1, 2)}));
  ExpectWelcome(2, HelloOf({PartyOf(2, "gpu02", 4, 0, 2), PartyOf(3, "gpu02", 4, 2, 2)}));
  const Result<Roster> roster = roster_builder->MakeRoster();
  ASSERT_FALSE(roster);
  EXPECT_EQ(
      roster.error(),
      (Error{
          Code::kDisagreement, "the local ranks of ranks 2,3 on gpu02 are 0,2 instead of 0 to 1",
          "look for two nodes with one name, two torchrun agents on one node, or an exported LOCAL_RANK"}));
}

TEST_F(RosterBuilderTest, TwoNodesOfOneNameAreFound) {
  for (const int rank : {0, 1, 2, 3}) {
    ExpectWelcome(static_cast<RosterBuilder::Source>(rank),
                  HelloOf({PartyOf(rank, "localhost", 4, rank % 2, 2)}));
  }
  const Result<Roster> roster = roster_builder->MakeRoster();
  ASSERT_FALSE(roster);
  EXPECT_EQ(roster.error().message,
            "the local ranks of ranks 0-3 on localhost are 0,0,1,1 instead of 0 to 3");
}

TEST_F(RosterBuilderTest, ARankClaimedTwiceNamesBoth) {
  ExpectWelcome(1, HelloOf({PartyOf(1, "gpu01", 4, 1, 2)}));
  ProcessInfo second = PartyOf(1, "gpu02", 4, 1, 2);
  second.pid = 77;
  ExpectFailure(roster_builder->Add(2, HelloOf({second})),
                {Code::kDisagreement, "rank 1 is claimed twice: by pid 1001 on gpu01 and by pid 77 on gpu02",
                 "look for a RANK or SLURM_PROCID that was exported before the launch, or for two launches "
                 "at the same time"});
}

// In containers two processes of one node may well have the same pid.
TEST_F(RosterBuilderTest, ARankClaimedTwiceOverTwoConnectionsIsTwoProcesses) {
  ExpectWelcome(1, HelloOf({PartyOf(1, "gpu01", 4, 1, 2)}));
  const std::optional<Failure> failure = roster_builder->Add(2, HelloOf({PartyOf(1, "gpu01", 4, 1, 2)}));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error.message, "rank 1 is claimed twice: by pid 1001 on gpu01 and by pid 1001 on gpu01");
}

// A rank whose leader did not answer, until it did.
TEST_F(RosterBuilderTest, OneProcessMayComeOverTwoConnections) {
  ProcessInfo member = PartyOf(1, "gpu01", 4, 1, 2);
  member.id = 7;
  ExpectWelcome(1, HelloOf({member}));
  ExpectWelcome(2, HelloOf({member}));
}

TEST_F(RosterBuilderTest, TheSameProcessMayRepeatItself) {
  ExpectWelcome(1, HelloOf({PartyOf(1, "gpu01", 4, 1, 2)}));
  ExpectWelcome(1, HelloOf({PartyOf(1, "gpu01", 4, 1, 2)}));
  EXPECT_EQ(roster_builder->Describe(),
            "1/4 ranks; missing gpu01: 0 (never connected); gpu02: 2,3 (no contact with the node)");
}

// In containers of their own both are pid 1.
TEST_F(RosterBuilderTest, AnotherProcessWithThatPidIsNoRepetition) {
  ProcessInfo member = PartyOf(1, "gpu01", 4, 1, 2);
  member.id = 7;
  ExpectWelcome(1, HelloOf({member}));
  ExpectWelcome(1, HelloOf({member}));
  member.id = 8;
  const std::optional<Failure> failure = roster_builder->Add(1, HelloOf({member}));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error.message, "rank 1 is claimed twice: by pid 1001 on gpu01 and by pid 1001 on gpu01");
}

TEST(RosterBuilder, TheRosterHasTheRanksOfEachProcess) {
  const auto process = [](std::vector<RankClaim> claims) {
    return ProcessInfo{"gpu01", 1, AgreementOf(4), std::move(claims)};
  };
  RosterBuilder builder(process({{0}}), {});
  const Hello hello = HelloOf({process({{0}}), process({{2}, {1}}), process({{3}})});
  EXPECT_EQ(builder.Add(0, hello), std::nullopt);
  const Result<Roster> roster = builder.MakeRoster();
  ASSERT_TRUE(roster);
  EXPECT_TRUE(roster->OfOneProcess(1, 2));
  EXPECT_FALSE(roster->OfOneProcess(0, 1));
  EXPECT_FALSE(roster->OfOneProcess(2, 3));
}

TEST_F(RosterBuilderTest, ARankOutsideTheWorldIsRefused) {
  for (const int rank : {-1, 4}) {
    Make(kTwoNodes);
    ProcessInfo member = PartyOf(rank, "gpu02", 4);
    member.pid = 77;
    ExpectFailure(roster_builder->Add(2, HelloOf({member})),
                  {Code::kBadEnvironment, fmt::format("pid 77 on gpu02 claims rank {} of 4", rank),
                   "run \"muster resolve\" there to see where it comes from"});
  }
}

TEST_F(RosterBuilderTest, ADisagreementIsTheGroupsFailure) {
  ExpectFailure(roster_builder->Add(2, HelloOf({PartyOf(2, "gpu02", 8, 0, 2)})),
                {Code::kDisagreement,
                 "the ranks disagree on the world size: rank 2 on gpu02 has 8, rank 0 on gpu01 has 4",
                 "run \"muster resolve\" on both to see where it comes from"});
}

TEST_F(RosterBuilderTest, ANewerIncarnationIsADisagreement) {
  ProcessInfo newer = PartyOf(2, "gpu02", 4, 0, 2);
  newer.agreement.restart = 1;
  const std::optional<Failure> failure = roster_builder->Add(2, HelloOf({newer}));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error.message,
            "the ranks disagree on the restart of the job: rank 2 on gpu02 has 1, rank 0 on gpu01 has 0");
}

TEST_F(RosterBuilderTest, WhoEndsIsNamed) {
  ExpectWelcome(2, HelloOf({PartyOf(2, "gpu02", 4, 0, 2)}));
  const auto failure = roster_builder->Remove(2);
  ASSERT_TRUE(failure);
  EXPECT_EQ(*failure,
            (Failure{{Code::kPeerLost, "rank 2 on gpu02 ended while the group was forming", ""}, 2, -1, ""}));
}

// Its followers live on; they cannot report, but they are not to blame.
TEST_F(RosterBuilderTest, ALeaderThatEndsIsNamedAlone) {
  ExpectWelcome(2, HelloOf({PartyOf(3, "gpu02", 4, 0, 2), PartyOf(2, "gpu02", 4, 1, 2)}));
  EXPECT_EQ(roster_builder->Remove(2)->error.message, "rank 3 on gpu02 ended while the group was forming");
}

TEST_F(RosterBuilderTest, AProcessOfSeveralRanksEndsWithAllOfThem) {
  ProcessInfo supervisor = PartyOf(3, "gpu02", 4, 1, 2);
  supervisor.claims.push_back({2, 0, 2, {}});
  ExpectWelcome(2, HelloOf({supervisor}));
  EXPECT_EQ(roster_builder->Remove(2)->error.message, "ranks 2,3 on gpu02 ended while the group was forming");
}

TEST_F(RosterBuilderTest, WhoClaimedNothingIsNotMissed) {
  EXPECT_EQ(roster_builder->Remove(9), std::nullopt);
  ProcessInfo nobody = PartyOf(3, "gpu02", 4, 1, 2);
  nobody.claims.clear();
  ExpectWelcome(2, HelloOf({nobody}));
  EXPECT_EQ(roster_builder->Remove(2), std::nullopt);
}

class DescribeTest : public RosterBuilderTest {
 protected:
  void AddRank(int rank, const std::string& node) {
    ExpectWelcome(static_cast<RosterBuilder::Source>(rank), HelloOf({PartyOf(rank, node, 4)}));
  }
};

TEST_F(DescribeTest, AKnownLayoutNamesRanksByNode) {
  EXPECT_EQ(
      roster_builder->Describe(),
      "0/4 ranks; missing gpu01: 0,1 (no contact with the node); gpu02: 2,3 (no contact with the node)");
  AddRank(0, "gpu01");
  AddRank(2, "gpu02");
  EXPECT_EQ(roster_builder->Describe(),
            "2/4 ranks; missing gpu01: 1 (never connected); gpu02: 3 (never connected)");
}

TEST_F(DescribeTest, ASilentNodeIsReachedOrNot) {
  AddRank(0, "gpu01");
  EXPECT_EQ(roster_builder->SilentNodes(), std::vector<std::string>{"gpu02"});
  roster_builder->SetReached("gpu02", true);
  EXPECT_EQ(
      roster_builder->Describe(),
      "1/4 ranks; missing gpu01: 1 (never connected); gpu02: 2,3 (no contact with the node, which gpu01 "
      "reaches)");
  roster_builder->SetReached("gpu02", false);
  EXPECT_EQ(
      roster_builder->Describe(),
      "1/4 ranks; missing gpu01: 1 (never connected); gpu02: 2,3 (no contact with the node, which gpu01 "
      "cannot reach)");
  AddRank(2, "gpu02");
  EXPECT_EQ(roster_builder->Describe(),
            "2/4 ranks; missing gpu01: 1 (never connected); gpu02: 3 (never connected)");
  EXPECT_TRUE(roster_builder->SilentNodes().empty());
}

TEST_F(DescribeTest, ALayoutMayBecomeKnown) {
  Make(PlacementOf({{"gpu01", {0, 1}}, {"gpu02", {2, 3}}}, false));
  AddRank(0, "gpu01");
  roster_builder->SetPlacement(PlacementOf({{"gpu01", {0, 1}}, {"gpu02", {2, 3}}}));
  EXPECT_EQ(roster_builder->Describe(),
            "1/4 ranks; missing gpu01: 1 (never connected); gpu02: 2,3 (no contact with the node)");
  roster_builder->SetPlacement(PlacementOf({{"gpu01", {0, 1}}}));
  EXPECT_EQ(roster_builder->Describe(),
            "1/4 ranks; missing gpu01: 1 (never connected); gpu02: 2,3 (no contact with the node)");
}

TEST_F(DescribeTest, AnUnknownLayoutCountsByNode) {
  Make(PlacementOf({{"gpu01", {0, 1}}, {"gpu02", {2, 3}}}, false));
  AddRank(0, "gpu01");
  EXPECT_EQ(
      roster_builder->Describe(),
      "1/4 ranks; missing 1-3 on gpu01: 1 rank (never connected); gpu02: 2 ranks (no contact with the node)");
  AddRank(1, "gpu01");
  EXPECT_EQ(roster_builder->Describe(),
            "2/4 ranks; missing 2,3 on gpu02: 2 ranks (no contact with the node)");
}

TEST_F(DescribeTest, WithoutAPlacementOnlyTheRanksAreKnown) {
  Make({});
  AddRank(0, "gpu01");
  EXPECT_EQ(roster_builder->Describe(), "1/4 ranks; missing 1-3");
}

TEST_F(DescribeTest, NodesOfUnknownSizeSayNothing) {
  Placement placement;
  placement.nodes = {{"gpu01", 0}, {"gpu02", 0}};
  Make(placement);
  AddRank(0, "gpu01");
  EXPECT_EQ(roster_builder->Describe(), "1/4 ranks; missing 1-3");
}

TEST_F(DescribeTest, ALayoutForAnotherWorldIsNoLayout) {
  Make(PlacementOf({{"gpu01", {0, 1}}}));
  EXPECT_EQ(roster_builder->Describe(),
            "0/4 ranks; missing 0-3 on gpu01: 2 ranks (no contact with the node)");
}

TEST_F(DescribeTest, ManyNodesAreNamedByTheReason) {
  std::vector<std::pair<std::string, std::vector<int>>> nodes;
  for (int node = 0; node < 20; ++node)
    nodes.push_back({fmt::format("n{:02}", node), {2 * node, 2 * node + 1}});
  for (const bool by_rank : {true, false}) {
    roster_builder.emplace(PartyOf(0, "n00", 40, 0, 1), PlacementOf(nodes, by_rank));
    ExpectWelcome(0, HelloOf({PartyOf(0, "n00", 40), PartyOf(8, "n04", 40)}));
    roster_builder->SetReached("n03", true);
    EXPECT_EQ(roster_builder->Describe(),
              by_rank ? "2/40 ranks; missing n[00,04]: 1,9 (never connected); n[01-02,05-19]: 2-5,10-39 (no "
                        "contact with the node); n03: 6,7 (no contact with the node, which n00 reaches)"
                      : "2/40 ranks; missing 1-7,9-39 on n[00,04]: 2 ranks (never connected); "
                        "n[01-02,05-19]: 34 ranks (no contact with the node); n03: 2 ranks (no contact with "
                        "the node, which n00 reaches)");
  }
}

TEST_F(DescribeTest, ThousandsOfNodesFitIntoALine) {
  std::vector<std::pair<std::string, std::vector<int>>> nodes;
  for (int node = 0; node < 2000; ++node) {
    std::vector<int> ranks;
    // Cyclic: no two neighbours on a node.
    for (int local = 0; local < 32; ++local) ranks.push_back(local * 2000 + node);
    nodes.push_back({fmt::format("n{:04}", 3 * node), ranks});
  }
  for (const bool by_rank : {true, false}) {
    roster_builder.emplace(PartyOf(0, "n0000", 64000, 0, 32), PlacementOf(nodes, by_rank));
    ExpectWelcome(0, HelloOf({PartyOf(0, "n0000", 64000, 0, 32)}));
    EXPECT_LT(roster_builder->Describe().size(), 2000U) << roster_builder->Describe();
    EXPECT_THAT(roster_builder->Describe(), testing::HasSubstr("0597,0600] and 1799 more: "));
  }
  ProcessInfo many = PartyOf(1, "n001", 64000);
  for (int rank = 3; rank < 64000; rank += 2) many.claims.push_back({rank, -1, -1, {}});
  ExpectWelcome(1, HelloOf({many}));
  const auto lost = roster_builder->Remove(1);
  ASSERT_TRUE(lost);
  EXPECT_EQ(
      lost->error.message,
      "ranks 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 and 31984 more on n001 ended while the group was "
      "forming");
}

TEST_F(RosterBuilderTest, ALongListOfLocalRanksIsCut) {
  const int size = 128;
  roster_builder.emplace(PartyOf(0, "n", size), Placement{});
  ProcessInfo all = PartyOf(0, "n", size);
  all.claims.clear();
  for (int rank = 0; rank < size; ++rank) all.claims.push_back({rank, rank / 2, size, {}});
  ExpectWelcome(0, HelloOf({all}));
  const Result<Roster> roster = roster_builder->MakeRoster();
  ASSERT_FALSE(roster);
  EXPECT_EQ(
      roster.error().message,
      "the local ranks of ranks 0-127 on n are "
      "0,0,1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,9,9,10,10,11,11,12,12,13,13,14,14,15,15 and 96 more instead of 0 "
      "to 127");
}

}  // namespace
}  // namespace muster::rendezvous
