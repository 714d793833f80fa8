#include "comm/rendezvous/survey/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

Roster RosterOf(int ranks, int per_node) {
  Roster roster;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % per_node == 0) roster.nodes.push_back({fmt::format("gpu{:02}", rank / per_node + 1), {}});
    roster.members.push_back({rank / per_node, rank % per_node, 1000 + rank, {}});
  }
  return roster;
}

OperationState Operation(std::string name, uint64_t sequence, bool active, uint64_t milliseconds,
                         std::vector<int> waiting_for = {}, uint64_t communicator = kWorldCommunicator) {
  return {communicator, true, active, std::move(name), sequence, "", milliseconds, std::move(waiting_for)};
}

RankReport Report(int rank, std::vector<OperationState> operations) {
  RankReport report;
  report.rank = rank;
  report.state = RankState::kInGroup;
  report.operations = std::move(operations);
  return report;
}

// All wait in AllReduce #42 but those in `late`, which have been in Barrier #41.
std::vector<RankReport> Waiting(int ranks, const std::vector<int>& late) {
  std::vector<RankReport> reports;
  for (int rank = 0; rank < ranks; ++rank) {
    const bool is_late = std::ranges::count(late, rank) > 0;
    reports.push_back(is_late ? Report(rank, {Operation("Barrier", 41, false, 32000)})
                              : Report(rank, {Operation("AllReduce", 42, true, 31000)}));
  }
  return reports;
}

std::vector<std::string> Lines(const Roster& roster, const std::vector<RankReport>& reports,
                               Duration at_least = seconds(10)) {
  std::vector<std::string> lines;
  for (const WaitingCall& call : FindWaitingCalls(reports, at_least)) lines.push_back(Describe(roster, call));
  return lines;
}

using Says = std::vector<std::string>;

TEST(Stragglers, NameWhoIsMissingAndWhereItWasSeen) {
  EXPECT_EQ(Lines(RosterOf(16, 4), Waiting(16, {5})),
            Says{"AllReduce #42 waits 31 s for rank 5 (gpu02), last seen in Barrier #41"});
}

TEST(Stragglers, WhoHasNotWaitedLongIsNotWorthALine) {
  EXPECT_THAT(Lines(RosterOf(16, 4), Waiting(16, {5}), seconds(32)), IsEmpty());
}

TEST(Stragglers, AThousandRanksAreOneLine) {
  std::vector<int> late;
  for (int rank = 8; rank < 1000; ++rank) late.push_back(rank);
  EXPECT_EQ(Lines(RosterOf(1000, 8), Waiting(1000, late)),
            Says{"AllReduce #42 waits 31 s for ranks 8-999 (124 nodes), last seen in Barrier #41"});
}

TEST(Stragglers, AreGroupedByWhereTheyAre) {
  auto reports = Waiting(8, {1, 2, 3, 5, 6, 7});
  reports[2].operations.clear();
  reports[3] = Report(3, {Operation("Gather", 2, true, 100, {}, 99), Operation("Barrier", 41, false, 9)});
  reports[5].state = RankState::kSilent;
  reports[6].state = RankState::kSilent;
  reports[6].process.state = 'T';
  reports[7].state = RankState::kProgram;
  EXPECT_EQ(Lines(RosterOf(8, 4), reports),
            Says{"AllReduce #42 waits 31 s for rank 1 (gpu01), last seen in Barrier #41; "
                 "rank 2 (gpu01), not seen in any operation so far; "
                 "rank 3 (gpu01), in Gather #2 of another communicator, last seen in Barrier #41; "
                 "rank 5 (gpu02), silent; rank 6 (gpu02), stopped (SIGSTOP or a debugger); "
                 "rank 7 (gpu02), whose program has not called muster::Init"});
}

TEST(Stragglers, WhoIsPastTheCallIsNotMissing) {
  auto reports = Waiting(4, {2});
  reports[1] = Report(1, {Operation("AllReduce", 42, false, 100)});
  reports[3] = Report(3, {Operation("Barrier", 43, true, 11000)});
  EXPECT_EQ(Lines(RosterOf(4, 4), reports),
            (Says{"AllReduce #42 waits 31 s for rank 2 (gpu01), last seen in Barrier #41",
                  "Barrier #43 waits 11 s for rank 0 (gpu01), in AllReduce #42; rank 1 (gpu01), last seen in "
                  "AllReduce #42; rank 2 (gpu01), last seen in Barrier #41"}));
}

TEST(Stragglers, WhereAllAreInTheCallItIsJustSlow) {
  EXPECT_EQ(Lines(RosterOf(4, 4), Waiting(4, {})),
            Says{"AllReduce #42 has taken 31 s so far; no rank is missing"});
}

TEST(Stragglers, APartOfTheGroupWaitsForItsOwnMembers) {
  std::vector<RankReport> reports = {Report(0, {Operation("Barrier", 3, true, 12000, {1}, 77)}),
                                     Report(1, {Operation("Barrier", 2, false, 500, {}, 77)}),
                                     Report(2, {Operation("Barrier", 9, true, 100)}), Report(3, {})};
  EXPECT_EQ(Lines(RosterOf(4, 4), reports),
            Says{"Barrier #3 waits 12 s for rank 1 (gpu01), last seen in Barrier #2"});
}

TEST(Stragglers, OfAPairThePeerIsTheOne) {
  OperationState receive = Operation("Recv", 3, true, 12000, {1});
  receive.collective = false;
  receive.elements = "f32[8]";
  std::vector<RankReport> reports = {Report(0, {receive}), Report(1, {Operation("Barrier", 2, false, 500)})};
  EXPECT_EQ(Lines(RosterOf(2, 1), reports),
            Says{"Recv #3 f32[8] on rank 0 (gpu01) waits 12 s for rank 1 (gpu02), last seen in Barrier #2"});
}

TEST(Stragglers, WhoHasLeftAndIsWaitedForWillNeverCome) {
  auto reports = Waiting(4, {2});
  reports[2] = RankReport{};
  reports[2].rank = 2;
  reports[2].state = RankState::kLeft;
  // It may have done its part: no rank waits for it.
  std::vector<WaitingCall> calls = FindWaitingCalls(reports, seconds(10));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_THAT(calls[0].left, IsEmpty());
  EXPECT_THAT(calls[0].late, IsEmpty());
  reports[2].state = RankState::kEnded;
  reports[2].exit_status = 0;
  EXPECT_THAT(FindWaitingCalls(reports, seconds(10))[0].late, IsEmpty());
  reports[2].exit_status = 1;
  EXPECT_EQ(FindWaitingCalls(reports, seconds(10))[0].late[0].ranks, std::vector<int>{2});
  reports[2].state = RankState::kLeft;
  // A rank that has waited for it for a moment only may still be served.
  reports[1].operations[0].waiting_for = {2};
  reports[1].operations[0].milliseconds = 100;
  EXPECT_THAT(FindWaitingCalls(reports, seconds(10))[0].left, IsEmpty());
  reports[1].operations[0].milliseconds = 31000;
  calls = FindWaitingCalls(reports, seconds(10));
  EXPECT_EQ(calls[0].left, std::vector<int>{2});
  EXPECT_EQ(Describe(RosterOf(4, 4), calls[0]),
            "AllReduce #42 waits 31 s for rank 2 (gpu01), which has left the group");
  // Its supervisor, which has other programs at work, has not.
  reports[2].state = RankState::kEnded;
  reports[2].exit_status = 0;
  calls = FindWaitingCalls(reports, seconds(10));
  EXPECT_EQ(calls[0].left, std::vector<int>{2});
  EXPECT_EQ(Describe(RosterOf(4, 4), calls[0]),
            "AllReduce #42 waits 31 s for rank 2 (gpu01), whose program has ended with 0");
  // This concerns no rank but the receiver.
  reports[1].operations[0].collective = false;
  reports[0].operations.clear();
  reports[3].operations.clear();
  calls = FindWaitingCalls(reports, seconds(10));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].late[0].ranks, std::vector<int>{2});
  EXPECT_THAT(calls[0].left, IsEmpty());
}

TEST(DescribeState, SaysWhatARankIsDoing) {
  EXPECT_EQ(DescribeState(Report(0, {})), "in the program, in no operation so far");
  EXPECT_EQ(DescribeState(Report(0, {Operation("Barrier", 41, false, 1)})),
            "in the program, last in Barrier #41");
  EXPECT_EQ(DescribeState(Report(0, {Operation("Barrier", 41, true, 1)})), "in Barrier #41");
  RankReport report;
  EXPECT_EQ(DescribeState(report), "silent");
  report.state = RankState::kProgram;
  EXPECT_EQ(DescribeState(report), "its program runs without a group");
  report.process.state = 'T';
  EXPECT_EQ(DescribeState(report), "its program is stopped");
  report.state = RankState::kOwnGroup;
  EXPECT_EQ(DescribeState(report), "its program is stopped");
  report.process.state = 'S';
  EXPECT_EQ(DescribeState(report), "its program runs PyTorch's own group");
  report.state = RankState::kEnded;
  report.exit_status = 3;
  EXPECT_EQ(DescribeState(report), "its program has ended with 3");
  report.state = RankState::kLeft;
  EXPECT_EQ(DescribeState(report), "has left the group");
}

TEST(FormatAge, IsRoundForPeople) {
  EXPECT_EQ(FormatAge(0), "0.0 s");
  EXPECT_EQ(FormatAge(9999), "9.9 s");
  EXPECT_EQ(FormatAge(31900), "31 s");
  EXPECT_EQ(FormatAge(12 * 60 * 1000), "12 m");
  EXPECT_EQ(FormatAge(12600 * 1000), "3.5 h");
}

TEST(DescribeMissing, NamesWhoHasNotComeToTheCollective) {
  EXPECT_EQ(DescribeMissing(RosterOf(16, 4), Waiting(16, {5}), 0, kWorldCommunicator, 42),
            "rank 5 (gpu02), last seen in Barrier #41");
  EXPECT_EQ(DescribeMissing(RosterOf(16, 4), Waiting(16, {}), 0, kWorldCommunicator, 42), "");
  EXPECT_EQ(DescribeMissing(RosterOf(16, 4), Waiting(16, {5}), 0, kWorldCommunicator + 1, 42), "");
}

TEST(DescribeMissing, NamesWhoIsInAnotherOneOfThatNumber) {
  std::vector<RankReport> reports = Waiting(3, {});
  reports[2] = Report(2, {Operation("Broadcast", 42, true, 100)});
  EXPECT_EQ(DescribeMissing(RosterOf(3, 4), reports, 0, kWorldCommunicator, 42),
            "rank 2 (gpu01), in Broadcast #42");
}

}  // namespace
}  // namespace muster::rendezvous
