#include "comm/rendezvous/liveness/loss.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

struct LossRow {
  const char* name;
  LossFacts facts;
  Loss expected;
};
class LossTest : public testing::TestWithParam<LossRow> {};

TEST_P(LossTest, Is) { EXPECT_EQ(JudgeLoss(GetParam().facts), GetParam().expected); }

// All have left, the group has failed, a map is at work, a rank is named.
INSTANTIATE_TEST_SUITE_P(
    All, LossTest,
    testing::Values(LossRow{"AtWork", {false, false, false, true}, Loss::kFailure},
                    LossRow{"AtWorkOnAMap", {false, false, true, true}, Loss::kTolerated},
                    LossRow{"OfAGroupThatHasFailed", {false, true, false, true}, Loss::kKnown},
                    LossRow{"OfAMapThatHasFailed", {false, true, true, true}, Loss::kKnown},
                    LossRow{"AfterLeaving", {true, false, false, true}, Loss::kNone},
                    LossRow{"AfterLeavingAMap", {true, false, true, true}, Loss::kNone},
                    LossRow{"AfterLeavingAFailedGroup", {true, true, true, true}, Loss::kNone},
                    LossRow{"CutOff", {false, false, false, false}, Loss::kFailure},
                    LossRow{"CutOffFromAMap", {false, false, true, false}, Loss::kFailure}),
    [](const auto& given) { return given.param.name; });

struct ReportedRow {
  const char* name;
  ReportedLossFacts facts;
  Loss expected;
};
class ReportedLossTest : public testing::TestWithParam<ReportedRow> {};

TEST_P(ReportedLossTest, Is) { EXPECT_EQ(JudgeReportedLoss(GetParam().facts), GetParam().expected); }

// In order, a map is at work, a map had lost them before.
INSTANTIATE_TEST_SUITE_P(
    All, ReportedLossTest,
    testing::Values(ReportedRow{"InTime", {false, true, false}, Loss::kTolerated},
                    ReportedRow{"AfterTheMap", {false, false, false}, Loss::kFailure},
                    ReportedRow{"OfRanksThatTheMapHadLost", {false, false, true}, Loss::kTolerated},
                    ReportedRow{"InOrder", {true, false, false}, Loss::kTolerated}),
    [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace muster::rendezvous
