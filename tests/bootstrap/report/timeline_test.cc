#include "bootstrap/report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bootstrap/run/records.h"

namespace muster::report {
namespace {

using std::chrono::milliseconds;

using std::chrono::seconds;
using testing::ElementsAre;

TEST(TimelineRows, PutTheFirstFailureFirstAndTheWorstAboveTheRest) {
  const std::vector<TimelineRow> rows = TimelineRows(run::FailedRun(), 4);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_TRUE(rows[0].first_failure);
  EXPECT_THAT(rows[0].ranks, ElementsAre(9));
  EXPECT_EQ(rows[1].outcome, RankOutcome::kKilled);
  EXPECT_EQ(rows[2].outcome, RankOutcome::kTerminated);
  EXPECT_THAT(rows[2].nodes, ElementsAre("gpu01", "gpu02", "gpu03", "gpu04"));
  EXPECT_EQ(rows[2].last_arrival->rank, 15);
  EXPECT_THAT(rows[3].ranks, ElementsAre(14));
  EXPECT_FALSE(rows[3].first_end);
}

TEST(TimelineRows, ThousandsFitIntoSome) {
  RunRecord record = run::GoodRun(2048, 8, seconds(10));
  record.formed = seconds(11);
  record.ended = seconds(71);
  const std::vector<TimelineRow> rows = TimelineRows(record, 60);
  EXPECT_LE(rows.size(), 60U);
  EXPECT_GT(rows.size(), 5U);
  size_t ranks = 0;
  for (const TimelineRow& row : rows) ranks += row.ranks.size();
  EXPECT_EQ(ranks, 2048U);
}

TEST(TimeScale, GivesAShortStartAThirdOfTheWidth) {
  const TimeScale scale(run::FailedRun());
  EXPECT_TRUE(scale.split());
  EXPECT_DOUBLE_EQ(scale.Percent({}), 0);
  EXPECT_DOUBLE_EQ(scale.Percent(milliseconds(310)), 33);
  EXPECT_DOUBLE_EQ(scale.Percent(milliseconds(11310)), 66.5);
  EXPECT_DOUBLE_EQ(scale.Percent(milliseconds(22310)), 100);
  EXPECT_DOUBLE_EQ(scale.Percent(seconds(99)), 100);
  EXPECT_THAT(scale.Ticks(),
              ElementsAre(milliseconds(0), milliseconds(100), milliseconds(200), milliseconds(300),
                          seconds(5), seconds(10), seconds(15), seconds(20)));
}

TEST(TimeScale, IsOneScaleWhereTheStartIsMostOfIt) {
  RunRecord record = run::FailedRun();
  record.formed = seconds(10);
  const TimeScale scale(record);
  EXPECT_FALSE(scale.split());
  EXPECT_NEAR(scale.Percent(milliseconds(11155)), 50, 1e-9);
  EXPECT_THAT(scale.Ticks(), ElementsAre(seconds(0), seconds(5), seconds(10), seconds(15), seconds(20)));
  EXPECT_FALSE(TimeScale(run::NeverFormed()).split());
}

TEST(TimeScale, SurvivesARunOfNoLength) {
  RunRecord record;
  const TimeScale scale(record);
  EXPECT_DOUBLE_EQ(scale.Percent({}), 0);
  EXPECT_FALSE(scale.Ticks().empty());
}

}  // namespace
}  // namespace muster::report
