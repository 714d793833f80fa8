#include "deploy/examples/digits_evaluation.h"

#include <gtest/gtest.h>

#include <mutex>

#include "deploy/examples/digits_report.h"
#include "deploy/examples/regular_file.h"
#include "tests/deploy/examples/thread_group.h"

namespace muster::examples {
namespace {

using Evaluations = std::vector<Result<Evaluation>>;

Digits ShippedDigits() { return *LoadDigits("deploy/examples/data/digits.csv"); }

Evaluations Evaluate(int size, const Digits& digits, const EvaluationOptions& options = {}) {
  return RunRanks<Evaluation>(
      size, [&](Communicator& communicator) { return RunEvaluation(communicator, digits, options); });
}

class WorldTest : public testing::TestWithParam<int> {};

TEST_P(WorldTest, GivesTheReferencesPredictionsToTheByte) {
  const auto expected = ReadRegularFile("tests/deploy/examples/reference_predictions.txt", 10000);
  ASSERT_TRUE(expected) << expected.error().message;
  const Evaluations results = Evaluate(GetParam(), ShippedDigits());
  for (const Result<Evaluation>& result : results) {
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->total, 1797u);
    EXPECT_EQ(result->correct, results[0]->correct);
  }
  EXPECT_EQ(FormatPredictions(results[0]->predictions), *expected);
}

TEST_P(WorldTest, EachRankComputesItsOwnRowsOnce) {
  const auto size = static_cast<size_t>(GetParam());
  std::mutex mutex;
  std::vector<int> computed(1797);
  EvaluationOptions options;
  options.classify = [&](const Digits&, RowRange rows, std::span<uint8_t>) -> Status {
    const std::lock_guard lock(mutex);
    for (size_t row = rows.begin; row < rows.end; ++row) ++computed[row];
    return {};
  };
  const Evaluations results = Evaluate(GetParam(), ShippedDigits(), options);
  EXPECT_EQ(computed, std::vector<int>(1797, 1));
  ASSERT_TRUE(results[0]) << results[0].error().message;
  ASSERT_EQ(results[0]->shares.size(), size);
  for (size_t rank = 0; rank < size; ++rank) {
    EXPECT_EQ(results[rank]->rows_computed, ShardOf(1797, rank, size).size()) << rank;
    EXPECT_EQ(results[0]->shares[rank], ShardOf(1797, rank, size)) << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, WorldTest, testing::Values(1, 3, 4, 16));

Digits ThreeDigits() {
  Digits digits;
  digits.pixels.resize(3 * kPixels);
  digits.labels = {5, 5, 6};
  return digits;
}

TEST(RunEvaluation, ManagesMoreRanksThanRows) {
  const Evaluations results = Evaluate(5, ThreeDigits());
  for (const Result<Evaluation>& result : results) ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(results[0]->correct, 2u);
  EXPECT_EQ(results[0]->predictions, (std::vector<uint8_t>{5, 5, 5}));
  EXPECT_EQ(results[0]->shares, (std::vector<RowRange>{{0, 1}, {1, 2}, {2, 3}, {3, 3}, {3, 3}}));
  EXPECT_EQ(results[4]->rows_computed, 0u);
  EXPECT_TRUE(results[1]->predictions.empty());
}

TEST(RunEvaluation, RepeatsAndSaysHowFarItIs) {
  int calls = 0;
  std::vector<std::pair<uint64_t, uint64_t>> progress;
  EvaluationOptions options;
  options.repeat = 3;
  options.classify = [&](const Digits& digits, RowRange rows, std::span<uint8_t> predictions) {
    ++calls;
    return ClassifyByNearest(digits, rows, predictions);
  };
  options.progress = [&](uint64_t done, uint64_t total) { progress.emplace_back(done, total); };
  const Evaluations results = Evaluate(1, ThreeDigits(), options);
  ASSERT_TRUE(results[0]) << results[0].error().message;
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(progress, (std::vector<std::pair<uint64_t, uint64_t>>{{3, 9}, {6, 9}, {9, 9}}));
  EXPECT_EQ(results[0]->correct, 2u);
  EXPECT_EQ(results[0]->rows_computed, 3u);
}

TEST(RunEvaluation, NamesTheRankWithOtherData) {
  Digits stale = ThreeDigits();
  stale.pixels[0] = 1;
  const Evaluations results = RunRanks<Evaluation>(6, [&](Communicator& communicator) {
    return RunEvaluation(communicator, communicator.rank() == 5 ? stale : ThreeDigits(), {});
  });
  for (const Result<Evaluation>& result : results) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error(),
              (Error{Code::kDisagreement,
                     "rank 5 on gpu02 has other data (3 images) than rank 0 on gpu01 (3 images)",
                     "give all ranks the same --data file"}));
  }
}

TEST(RunEvaluation, FailsEverywhereWhenOneRankDoes) {
  EvaluationOptions options;
  options.repeat = 1000;
  std::mutex mutex;
  int calls = 0;
  options.classify = [&](const Digits& digits, RowRange rows, std::span<uint8_t> predictions) -> Status {
    const std::lock_guard lock(mutex);
    if (rows.begin == 2 && ++calls == 500) return Fail(Code::kSystem, "the device is gone");
    return ClassifyByNearest(digits, rows, predictions);
  };
  const Evaluations results = Evaluate(3, ThreeDigits(), options);
  for (const Result<Evaluation>& result : results) ASSERT_FALSE(result);
  EXPECT_EQ(results[0].error(), (Error{Code::kPeerLost, "rank 2 on gpu01 left", ""}));
  EXPECT_EQ(results[1].error(), (Error{Code::kPeerLost, "rank 2 on gpu01 left", ""}));
  EXPECT_EQ(results[2].error(), (Error{Code::kSystem, "the device is gone", ""}));
}

// A sum that the network, or another build of this program, got wrong.
class WrongSum : public ThreadCommunicator {
 public:
  WrongSum(ThreadGroup& group, size_t index) : ThreadCommunicator(group, 0), index_(index) {}
  Status Perform(const OperationRequest& request, const CallOptions& options) override {
    MUSTER_CHECK(ThreadCommunicator::Perform(request, options));
    static_cast<uint64_t*>(request.receive.data)[index_] -= 1;
    return {};
  }

 private:
  size_t index_;
};

TEST(RunEvaluation, NoticesALostRow) {
  ThreadGroup group(1);
  WrongSum communicator(group, 0);
  const Result<Evaluation> result = RunEvaluation(communicator, ThreeDigits(), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), (Error{Code::kDisagreement, "1 ranks evaluated 2 rows of 3", ""}));
}

TEST(RunEvaluation, NoticesAWrongCount) {
  ThreadGroup group(1);
  WrongSum communicator(group, 1);
  const Result<Evaluation> result = RunEvaluation(communicator, ThreeDigits(), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(),
            (Error{Code::kDisagreement,
                   "2 of the predictions that were sent are correct, but the ranks counted 1", ""}));
}

}  // namespace
}  // namespace muster::examples
