// The evaluation: every rank classifies its shard of the rows, the counts are summed, and rank 0 receives the
// predictions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "comm/base/error.h"
#include "comm/communicator.h"
#include "deploy/examples/digits_data.h"
#include "deploy/examples/nearest_neighbour.h"
#include "deploy/examples/row_range.h"

namespace muster::examples {

struct EvaluationOptions {
  // The same on all ranks, at least 1. Each time everything is computed again and the counts are summed: a
  // job that lasts.
  uint64_t repeat = 1;
  Classifier classify = ClassifyByNearest;
  // Called now and then on this thread with this rank's rows, of all repetitions together; may be empty.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

struct Evaluation {
  size_t total = 0;          // rows of the data set
  size_t correct = 0;        // of all ranks together
  size_t rows_computed = 0;  // by this rank, in the last repetition
  // On rank 0 alone:
  std::vector<uint8_t> predictions;  // index = row
  std::vector<RowRange> shares;      // index = rank
};

// Collective: all ranks call it with the same data. Blocks until the slowest rank is done, within the
// communicator's timeout for each collective. Error: the communicator's or the classifier's own;
// kDisagreement (names the rank) if ranks hold different data, or if their rows do not add up to every row
// once.
Result<Evaluation> RunEvaluation(Communicator& communicator, const Digits& digits,
                                 const EvaluationOptions& options);

}  // namespace muster::examples
