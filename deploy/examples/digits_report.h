// The result as rank 0 prints it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "comm/roster.h"
#include "deploy/examples/digits_evaluation.h"

namespace muster::examples {

// A line for each rank, "rank 0 on gpu01: rows 0-112", and the accuracy: "accuracy: 1790/1797 = 99.61 %".
std::string FormatReport(const Roster& roster, const Evaluation& evaluation);

// One label a line.
std::string FormatPredictions(std::span<const uint8_t> predictions);

}  // namespace muster::examples
