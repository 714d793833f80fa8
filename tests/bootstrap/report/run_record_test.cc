#include "bootstrap/report/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bootstrap/run/records.h"

namespace muster::report {
namespace {

using std::chrono::milliseconds;

using testing::ElementsAre;
using testing::Pair;

TEST(OutcomeOf, IsEachRanksOwn) {
  EXPECT_THAT(
      RanksByOutcome(run::FailedRun()),
      ElementsAre(Pair(RankOutcome::kOk, ElementsAre(14)), Pair(RankOutcome::kFailed, ElementsAre(9)),
                  Pair(RankOutcome::kTerminated, ElementsAre(0, 1, 2, 3, 4, 5, 7, 8, 10, 11, 12, 13, 15)),
                  Pair(RankOutcome::kKilled, ElementsAre(6))));
}

TEST(OutcomeOf, WhoNeverCameIsMissing) {
  EXPECT_THAT(
      RanksByOutcome(run::NeverFormed()),
      ElementsAre(Pair(RankOutcome::kMissing, ElementsAre(8, 9, 10, 11)),
                  Pair(RankOutcome::kNotStarted, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15))));
}

TEST(OutcomeOf, WithoutAWordOfItsEndARankIsLost) {
  RunRecord record = run::FailedRun();
  record.ranks[9].end.reset();
  EXPECT_EQ(record.OutcomeOf(9), RankOutcome::kFailed);
  record.failure->exit_status = -1;
  EXPECT_EQ(record.OutcomeOf(9), RankOutcome::kLost);
  record.ranks[3].end.reset();
  EXPECT_EQ(record.OutcomeOf(3), RankOutcome::kLost);
}

TEST(OutcomeOf, AProgramThatTookSigtermWellWasStillEnded) {
  RunRecord record = run::FailedRun();
  record.ranks[3].end = run::EndedBy(3, rendezvous::EndCause::kTerminated, 0, 0, milliseconds(1));
  EXPECT_EQ(record.OutcomeOf(3), RankOutcome::kTerminated);
}

TEST(OutcomeOf, ABadEndOfItsOwnIsAFailure) {
  RunRecord record = run::FailedRun();
  record.ranks[3].end = run::EndedBy(3, rendezvous::EndCause::kItself, 1, 0, milliseconds(1));
  record.ranks[4].end = run::EndedBy(4, rendezvous::EndCause::kItself, 0, SIGSEGV, milliseconds(1));
  record.ranks[5].end = run::EndedBy(5, rendezvous::EndCause::kNotStarted, 0, 0, milliseconds(1));
  EXPECT_EQ(record.OutcomeOf(3), RankOutcome::kFailed);
  EXPECT_EQ(record.OutcomeOf(4), RankOutcome::kFailed);
  EXPECT_EQ(record.OutcomeOf(5), RankOutcome::kNotStarted);
}

// A program that left its group and then exited with 0 is still the failure.
TEST(OutcomeOf, TheFirstFailureMayHaveEndedWithZero) {
  RunRecord record = run::FailedRun();
  record.ranks[9].end = run::EndedBy(9, rendezvous::EndCause::kItself, 0, 0, milliseconds(1));
  EXPECT_EQ(record.OutcomeOf(9), RankOutcome::kFailed);
}

TEST(Moments, AreInOrderAndCountFromTheBeginning) {
  const RunRecord record = run::FailedRun();
  const std::vector<Moment> arrivals = ArrivalsInOrder(record);
  ASSERT_EQ(arrivals.size(), 16U);
  EXPECT_EQ(arrivals.front(), (Moment{0, milliseconds(3)}));
  EXPECT_EQ(arrivals.back().rank, 15);
  const std::vector<Moment> ends = EndsInOrder(record);
  ASSERT_EQ(ends.size(), 15U);
  EXPECT_EQ(ends.front(), (Moment{9, milliseconds(12310)}));
  EXPECT_EQ(ends.back(), (Moment{6, milliseconds(22310)}));
  EXPECT_TRUE(EndsInOrder(run::NeverFormed()).empty());
}

TEST(DescribeRank, SurvivesARankThatIsNone) {
  EXPECT_EQ(DescribeRank(run::FailedRun(), 9), "rank 9 on gpu03");
  EXPECT_EQ(DescribeRank(run::FailedRun(), 16), "rank 16");
  EXPECT_EQ(DescribeRank(run::FailedRun(), -1), "rank -1");
}

}  // namespace
}  // namespace muster::report
