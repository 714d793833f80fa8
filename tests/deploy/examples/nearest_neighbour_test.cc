#include "deploy/examples/nearest_neighbour.h"

#include <gtest/gtest.h>

#include "deploy/examples/digits_report.h"
#include "deploy/examples/regular_file.h"

namespace muster::examples {
namespace {

// An image for each value, all its pixels zero but the first; the label is the row.
Digits OnALine(const std::vector<uint8_t>& values) {
  Digits digits;
  for (const uint8_t value : values) {
    digits.pixels.resize(digits.pixels.size() + kPixels);
    digits.pixels[digits.labels.size() * kPixels] = value;
    digits.labels.push_back(static_cast<uint8_t>(digits.labels.size()));
  }
  return digits;
}

std::vector<uint8_t> Classify(const Digits& digits, RowRange rows) {
  std::vector<uint8_t> predictions(rows.size(), 99);
  EXPECT_TRUE(ClassifyByNearest(digits, rows, predictions));
  return predictions;
}

TEST(ClassifyByNearest, TakesTheNearestButNotItself) {
  EXPECT_EQ(Classify(OnALine({0, 10, 4, 11}), {0, 4}), (std::vector<uint8_t>{2, 3, 0, 1}));
}

TEST(ClassifyByNearest, GivesATieToTheLowerIndex) {
  // Row 1 lies between its neighbours; row 2 is as far from 1 as from 3; rows 4 and 5 are the same image as
  // row 3.
  EXPECT_EQ(Classify(OnALine({0, 4, 8, 12, 12, 12}), {0, 6}), (std::vector<uint8_t>{1, 0, 1, 4, 3, 3}));
}

TEST(ClassifyByNearest, WritesTheRowsItWasAskedFor) {
  EXPECT_EQ(Classify(OnALine({0, 10, 4, 11}), {1, 3}), (std::vector<uint8_t>{3, 0}));
  EXPECT_EQ(Classify(OnALine({0, 10, 4, 11}), {2, 2}), std::vector<uint8_t>());
}

TEST(ClassifyByNearest, HoldsTheLargestDistance) {
  Digits digits = OnALine({0, 0, 0});
  std::fill_n(digits.pixels.begin(), kPixels, uint8_t{16});
  EXPECT_EQ(Classify(digits, {0, 3}), (std::vector<uint8_t>{1, 2, 1}));
}

TEST(ClassifyByNearest, AgreesWithTheReferenceToTheByte) {
  const Digits digits = *LoadDigits("deploy/examples/data/digits.csv");
  const auto expected = ReadRegularFile("tests/deploy/examples/reference_predictions.txt", 10000);
  ASSERT_TRUE(expected) << expected.error().message;
  EXPECT_EQ(FormatPredictions(Classify(digits, {0, digits.size()})), *expected);
}

}  // namespace
}  // namespace muster::examples
