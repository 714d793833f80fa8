#include "deploy/examples/digits_evaluation.h"

#include <algorithm>
#include <array>

#include "comm/base/wire.h"
#include "deploy/examples/share.h"

namespace muster::examples {
namespace {

// Rows between two calls of `progress`: about a millisecond.
constexpr size_t kBatch = 128;

// One stale copy of the file on one node would make the accuracy a number about nothing.
Status CheckSameData(Communicator& communicator, const Digits& digits) {
  WireWriter mine;
  mine.U64(digits.size());
  mine.U64(Digest(digits));
  MUSTER_TRY(const std::vector<Bytes> all, communicator.AllGatherBytes(mine.bytes()));
  const auto other = std::ranges::find_if(all, [&](const Bytes& bytes) { return bytes != all.front(); });
  if (other == all.end()) return {};
  const auto images = [](const Bytes& bytes) { return WireReader(bytes).U64(); };
  return WithHint(Fail(Code::kDisagreement, "{} has other data ({} images) than {} ({} images)",
                       DescribeRank(communicator.roster(), static_cast<int>(other - all.begin())),
                       images(*other), DescribeRank(communicator.roster(), 0), images(all.front())),
                  "give all ranks the same --data file");
}

struct Shard {
  RowRange rows;
  std::vector<uint8_t> predictions;
};

size_t CountCorrect(const Digits& digits, size_t first_row, std::span<const uint8_t> predictions) {
  size_t correct = 0;
  for (size_t i = 0; i < predictions.size(); ++i)
    correct += predictions[i] == digits.labels[first_row + i] ? 1 : 0;
  return correct;
}

// How many rows were classified.
Result<size_t> ClassifyShard(const Digits& digits, const EvaluationOptions& options, uint64_t repetition,
                             Shard& shard) {
  size_t done = 0;
  while (done < shard.rows.size()) {
    const RowRange batch = {shard.rows.begin + done,
                            std::min(shard.rows.begin + done + kBatch, shard.rows.end)};
    MUSTER_CHECK(options.classify(digits, batch, std::span(shard.predictions).subspan(done, batch.size())));
    done += batch.size();
    if (options.progress) {
      options.progress(repetition * shard.rows.size() + done, options.repeat * shard.rows.size());
    }
  }
  return done;
}

// The number of correct answers of all ranks, if together they evaluated every row.
Result<size_t> SumCounts(Communicator& communicator, size_t total, size_t rows, size_t correct) {
  std::array<uint64_t, 2> counts = {rows, correct};
  MUSTER_CHECK(communicator.AllReduce(std::span<uint64_t>(counts), ReduceOp::kSum));
  if (counts[0] != total) {
    return Fail(Code::kDisagreement, "{} ranks evaluated {} rows of {}", communicator.size(), counts[0],
                total);
  }
  return counts[1];
}

Status GatherPredictions(Communicator& communicator, const Digits& digits, const Shard& shard,
                         Evaluation& result) {
  const Bytes mine = EncodeShare(shard.rows.begin, shard.predictions);
  MUSTER_TRY(const std::vector<Bytes> parts, communicator.GatherBytes(mine, 0));
  if (communicator.rank() != 0) return {};
  MUSTER_TRY(Assembled all, AssembleShares(communicator.roster(), digits.size(), parts));
  if (const size_t correct = CountCorrect(digits, 0, all.predictions); correct != result.correct) {
    return Fail(Code::kDisagreement,
                "{} of the predictions that were sent are correct, but the ranks counted {}", correct,
                result.correct);
  }
  result.predictions = std::move(all.predictions);
  result.shares = std::move(all.shares);
  return {};
}

}  // namespace

Result<Evaluation> RunEvaluation(Communicator& communicator, const Digits& digits,
                                 const EvaluationOptions& options) {
  MUSTER_CHECK(CheckSameData(communicator, digits));
  Shard shard;
  shard.rows = ShardOf(digits.size(), static_cast<size_t>(communicator.rank()),
                       static_cast<size_t>(communicator.size()));
  shard.predictions.resize(shard.rows.size());
  Evaluation result;
  result.total = digits.size();
  for (uint64_t repetition = 0; repetition < options.repeat; ++repetition) {
    MUSTER_TRY(result.rows_computed, ClassifyShard(digits, options, repetition, shard));
    const size_t correct = CountCorrect(digits, shard.rows.begin, shard.predictions);
    MUSTER_TRY(result.correct, SumCounts(communicator, result.total, result.rows_computed, correct));
  }
  MUSTER_CHECK(GatherPredictions(communicator, digits, shard, result));
  return result;
}

}  // namespace muster::examples
