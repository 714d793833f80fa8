#include "bootstrap/report/run_recorder.h"

#include <gtest/gtest.h>

#include <csignal>

namespace muster::report {
namespace {

using std::chrono::seconds;

constexpr process::ChildExit kWell{};
constexpr process::ChildExit kTerm{0, SIGTERM};

rendezvous::FormedGroup FourRanks() {
  rendezvous::FormedGroup group;
  group.roster.group_id = "abc";
  group.roster.nodes = {{"gpu01", {}}, {"gpu02", {}}};
  group.roster.members = {{0, 0, 1, {}}, {0, 1, 2, {}}, {1, 0, 3, {}}, {1, 1, 4, {}}};
  return group;
}

RunRecorder::Facts FactsOf(int ranks) {
  RunRecorder::Facts facts;
  facts.job = "slurm:4.0:0";
  facts.command = {"true"};
  facts.node = "gpu01";
  facts.world_size = ranks;
  facts.began = Clock::now() - seconds(5);
  return facts;
}

bool Nobody(int /*rank*/) { return false; }

TEST(RunRecorder, KeepsThePhasesInOrder) {
  RunRecorder recorder(FactsOf(4));
  recorder.Joining();
  const rendezvous::Arrivals arrivals = {{0, {seconds(0), "gpu01"}}, {3, {seconds(2), "gpu02"}}};
  recorder.Formed(FourRanks(), &arrivals);
  recorder.Initialized();
  recorder.Ended(0, kWell, rendezvous::OutOfMemory::kNo);
  const RunRecord record = recorder.Finish(0, [](int rank) { return rank == 2; });
  EXPECT_GE(record.joining, seconds(5));
  EXPECT_GE(*record.formed, record.joining);
  EXPECT_GE(*record.initialized, *record.formed);
  EXPECT_GE(record.ended, *record.initialized);
  EXPECT_FALSE(record.failed);
  EXPECT_EQ(record.job, "slurm:4.0:0");
  EXPECT_EQ(record.group, "abc");
  EXPECT_EQ(record.ranks[1].node, "gpu01");
  EXPECT_EQ(record.ranks[3].arrived, seconds(2));
  EXPECT_FALSE(record.ranks[1].arrived);
  EXPECT_EQ(record.OutcomeOf(0), RankOutcome::kOk);
  EXPECT_EQ(record.OutcomeOf(2), RankOutcome::kOk);
  EXPECT_EQ(record.OutcomeOf(3), RankOutcome::kLost);
}

TEST(RunRecorder, KnowsWhatEndedAProgram) {
  RunRecorder recorder(FactsOf(4));
  recorder.Joining();
  recorder.Formed(FourRanks(), nullptr);
  recorder.Ended(0, {3, 0}, rendezvous::OutOfMemory::kOwn);
  recorder.Terminated(1);
  recorder.Terminated(2);
  recorder.Killed(2);
  recorder.Ended(1, kTerm, rendezvous::OutOfMemory::kNo);
  recorder.Ended(2, {0, SIGKILL}, rendezvous::OutOfMemory::kNo);
  recorder.NotStarted(3);
  const std::vector<rendezvous::RankEnd> ends = recorder.own_ends();
  ASSERT_EQ(ends.size(), 4U);
  EXPECT_EQ(ends[0].cause, rendezvous::EndCause::kItself);
  EXPECT_EQ(ends[0].exit_code, 3);
  EXPECT_EQ(ends[0].out_of_memory, rendezvous::OutOfMemory::kOwn);
  EXPECT_EQ(ends[1].cause, rendezvous::EndCause::kTerminated);
  EXPECT_EQ(ends[1].signal, SIGTERM);
  EXPECT_EQ(ends[2].cause, rendezvous::EndCause::kKilled);
  EXPECT_EQ(ends[3].cause, rendezvous::EndCause::kNotStarted);
  EXPECT_GE(ends[0].resolve, seconds(5));
}

TEST(RunRecorder, HearsOfOthersAndIgnoresRanksThatAreNone) {
  RunRecorder recorder(FactsOf(4));
  recorder.Joining();
  const rendezvous::Arrivals arrivals = {{0, {seconds(0), "gpu01"}}};
  recorder.Formed(FourRanks(), &arrivals);
  rendezvous::RankEnd end;
  end.rank = 3;
  end.exit_code = 7;
  rendezvous::RankEnd stranger = end;
  stranger.rank = 4;
  rendezvous::RankEnd nobody = end;
  nobody.rank = -1;
  recorder.AddEnds({end, stranger, nobody});
  const RunRecord record = recorder.Finish(7, Nobody);
  EXPECT_EQ(record.ranks[3].end, end);
  EXPECT_EQ(record.exit_status, 7);
  EXPECT_EQ(record.OutcomeOf(3), RankOutcome::kFailed);
}

// There are thousands of them.
TEST(RunRecorder, KeepsNoTableWhereItIsNotTheRoots) {
  RunRecorder recorder(FactsOf(4));
  recorder.Joining();
  recorder.Formed(FourRanks(), nullptr);
  recorder.Ended(3, kWell, rendezvous::OutOfMemory::kNo);
  EXPECT_TRUE(recorder.Finish(0, Nobody).ranks.empty());
  EXPECT_EQ(recorder.own_ends().size(), 1U);
}

TEST(RunRecorder, TheFirstFailureCounts) {
  RunRecorder recorder(FactsOf(4));
  recorder.Failed({{Code::kPeerLost, "first", ""}, 2, 3, ""});
  recorder.Failed({{Code::kPeerLost, "second", ""}, 1, 4, ""});
  EXPECT_EQ(recorder.Finish(3, Nobody).failure->error.message, "first");
}

TEST(RunRecorder, KnowsWhereTheMissingShouldHaveComeFrom) {
  RunRecorder recorder(FactsOf(4));
  recorder.Joining();
  const rendezvous::Arrivals arrivals = {{0, {seconds(0), "gpu01"}}};
  recorder.NotFormed(&arrivals, {{{"gpu01", 2}, {"gpu02", 2}}, {0, 0, 1, 1}});
  const RunRecord record = recorder.Finish(75, Nobody);
  EXPECT_EQ(record.ranks[2].node, "gpu02");
  EXPECT_EQ(record.OutcomeOf(0), RankOutcome::kNotStarted);
  EXPECT_EQ(record.OutcomeOf(2), RankOutcome::kMissing);
  RunRecorder blind(FactsOf(4));
  blind.NotFormed(&arrivals, {});
  EXPECT_EQ(blind.Finish(75, Nobody).ranks[2].node, "");
}

TEST(RunRecorder, AWorldOfOneIsHere) {
  RunRecorder recorder(FactsOf(1));
  EXPECT_EQ(recorder.Finish(0, Nobody).ranks[0].node, "gpu01");
}

TEST(DescribeEnd, SaysOutOfMemoryWhereTheKernelDoes) {
  constexpr process::ChildExit kKill{0, SIGKILL};
  EXPECT_EQ(DescribeEnd({3, 0}, rendezvous::OutOfMemory::kNo), "exit 3");
  EXPECT_EQ(DescribeEnd(kKill, rendezvous::OutOfMemory::kNo), "signal 9 (Killed)");
  EXPECT_EQ(DescribeEnd(kKill, rendezvous::OutOfMemory::kOwn), "signal 9 (Killed), out of memory");
  EXPECT_EQ(DescribeEnd({1, 0}, rendezvous::OutOfMemory::kOwn),
            "exit 1, after the kernel killed a process of it, out of memory");
  EXPECT_EQ(DescribeEnd(kKill, rendezvous::OutOfMemory::kNode),
            "signal 9 (Killed), perhaps out of memory: the kernel killed a process on this node for that");
  EXPECT_EQ(DescribeEnd({1, 0}, rendezvous::OutOfMemory::kNode), "exit 1");
}

// `timeout -s TERM 60 muster launch ...`: the rank of such a failure is only the first that reported it.
TEST(RunRecorder, ARequestToEndIsTheFailureOfNoRank) {
  RunRecorder recorder(FactsOf(4));
  const rendezvous::Arrivals arrivals;
  recorder.Joining();
  recorder.Formed(FourRanks(), &arrivals);
  rendezvous::Failure failure{
      {Code::kPeerLost, "terminated (SIGTERM)", ""}, 0, 128 + SIGTERM, "last", /*as_requested=*/true};
  recorder.Failed(failure);
  recorder.Ended(0, kTerm, rendezvous::OutOfMemory::kNo);
  recorder.Ended(1, {128 + SIGTERM, 0}, rendezvous::OutOfMemory::kNo);
  recorder.Ended(2, {1, 0}, rendezvous::OutOfMemory::kNo);
  recorder.Ended(3, {0, SIGSEGV}, rendezvous::OutOfMemory::kNo);
  const RunRecord record = recorder.Finish(128 + SIGTERM, Nobody);
  failure.rank = -1;
  failure.stderr_tail.clear();
  EXPECT_EQ(record.failure, failure);
  EXPECT_EQ(record.OutcomeOf(0), RankOutcome::kTerminated);
  EXPECT_EQ(record.OutcomeOf(1), RankOutcome::kTerminated) << "a shell around it";
  EXPECT_EQ(record.OutcomeOf(2), RankOutcome::kFailed);
  EXPECT_EQ(record.OutcomeOf(3), RankOutcome::kFailed);
}

// After the request, or with 80: this rank has a status of its own.
TEST(RunRecorder, AStatusOfItsOwnIsThatOfTheRank) {
  for (const int status : {1, 80}) {
    RunRecorder recorder(FactsOf(1));
    recorder.Formed(FourRanks(), nullptr);
    recorder.Failed({{Code::kPeerLost, "rank 0 on gpu01 failed", ""}, 0, status, "last", true});
    recorder.Ended(0, {status, 0}, rendezvous::OutOfMemory::kNo);
    const RunRecord record = recorder.Finish(status, Nobody);
    EXPECT_EQ(record.failure->rank, 0);
    EXPECT_EQ(record.failure->stderr_tail, "last");
    EXPECT_EQ(record.OutcomeOf(0), RankOutcome::kFailed);
  }
}

}  // namespace
}  // namespace muster::report
