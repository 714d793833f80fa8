#include "deploy/examples/digits_report.h"

#include <gtest/gtest.h>

namespace muster::examples {
namespace {

TEST(FormatReport, SaysWhoDidWhatAndTheAccuracy) {
  const Roster roster = {"", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 1, {}}, {0, 1, 2, {}}, {1, 0, 3, {}}}};
  Evaluation evaluation;
  evaluation.total = 3;
  evaluation.correct = 2;
  evaluation.shares = {{0, 2}, {2, 3}, {3, 3}};
  EXPECT_EQ(FormatReport(roster, evaluation),
            "rank 0 on gpu01: rows 0-1\n"
            "rank 1 on gpu01: rows 2-2\n"
            "rank 2 on gpu02: no rows\n"
            "accuracy: 2/3 = 66.67 %\n");
}

TEST(FormatPredictions, IsOneLabelALine) {
  EXPECT_EQ(FormatPredictions({}), "");
  EXPECT_EQ(FormatPredictions(std::vector<uint8_t>{0, 9, 4}), "0\n9\n4\n");
}

}  // namespace
}  // namespace muster::examples
