#include "deploy/examples/gpu_classifier.h"

#include <gtest/gtest.h>

#include <string_view>

#include "deploy/examples/digits_data.h"
#include "tests/gpu/standin/ptx.h"

namespace muster::examples {
namespace {

TEST(DigitsKernel, IsThereAsText) {
  const std::string_view text = kDigitsKernel;
  EXPECT_NE(text.find(".version 6.3\n.target sm_50\n"), std::string_view::npos);
  EXPECT_NE(text.find(".visible .entry digits_nearest("), std::string_view::npos);
}

// The text itself, without a GPU: its results are computed here.
TEST(DigitsKernel, GivesTheLabelsOfTheProcessor) {
  std::string problem;
  const auto kernels = standin::PtxKernel::ParseAll(kDigitsKernel, &problem);
  ASSERT_EQ(kernels.size(), 1) << problem;
  EXPECT_EQ(kernels[0].name(), "digits_nearest");
  const auto digits = LoadDigits("deploy/examples/data/digits.csv");
  ASSERT_TRUE(digits) << digits.error().message;
  // More threads than rows, and not from the first row on.
  const RowRange rows = {1500, digits->size()};
  std::vector<uint8_t> expected(rows.size());
  ASSERT_TRUE(ClassifyByNearest(*digits, rows, expected));
  expected.push_back(99);
  std::vector<uint8_t> got(expected.size(), 99);
  const uint8_t* pixels = digits->pixels.data();
  const uint8_t* labels = digits->labels.data();
  auto images = static_cast<unsigned>(digits->size());
  auto first = static_cast<unsigned>(rows.begin);
  auto count = static_cast<unsigned>(rows.size());
  uint8_t* predictions = got.data();
  void* const arguments[] = {&pixels, &labels, &images, &first, &count, &predictions};
  kernels[0].Run(count / 128 + 1, 128, arguments);
  EXPECT_EQ(got, expected);
}

TEST(PtxKernel, RefusesWhatItDoesNotKnow) {
  std::string problem;
  const std::string text = kDigitsKernel;
  EXPECT_TRUE(standin::PtxKernel::ParseAll(text + "\tdiv.s32 \t%r1, %r2, %r3;\n", &problem).empty());
  EXPECT_EQ(problem, "not known: div.s32 \t%r1, %r2, %r3");
  EXPECT_TRUE(standin::PtxKernel::ParseAll(text + "\tbra \tNOWHERE;\n", &problem).empty());
  EXPECT_EQ(problem, "no label NOWHERE");
}

// On a GPU the labels of every row; without a driver the reason.
TEST(MakeGpuClassifier, GivesTheLabelsOfTheProcessorOrSaysThatThereIsNoDriver) {
  const auto digits = LoadDigits("deploy/examples/data/digits.csv");
  ASSERT_TRUE(digits) << digits.error().message;
  const auto gpu = MakeGpuClassifier(*digits);
  if (!gpu && gpu.error().code == Code::kConfiguration) {
    EXPECT_TRUE(gpu.error().message.starts_with("no CUDA driver: ")) << gpu.error().message;
    return;
  }
  ASSERT_TRUE(gpu) << gpu.error().message;
  const RowRange all = {0, digits->size()};
  std::vector<uint8_t> expected(digits->size());
  std::vector<uint8_t> got(digits->size());
  ASSERT_TRUE(ClassifyByNearest(*digits, all, expected));
  const Status classified = (*gpu)(*digits, all, got);
  ASSERT_TRUE(classified) << classified.error().message;
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace muster::examples
