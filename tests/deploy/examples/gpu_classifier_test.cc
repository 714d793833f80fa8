#include "deploy/examples/gpu_classifier.h"

#include <gtest/gtest.h>

#include <string_view>

#include "deploy/examples/digits_data.h"

namespace muster::examples {
namespace {

TEST(DigitsKernel, IsThereAsText) {
  const std::string_view text = kDigitsKernel;
  EXPECT_NE(text.find(".version 6.3\n.target sm_50\n"), std::string_view::npos);
  EXPECT_NE(text.find(".visible .entry digits_nearest("), std::string_view::npos);
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
