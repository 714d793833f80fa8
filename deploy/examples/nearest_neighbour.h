// The classifier: an image gets the label of the image it is nearest to, itself left out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "comm/base/error.h"
#include "deploy/examples/digits_data.h"
#include "deploy/examples/row_range.h"

namespace muster::examples {

// Puts a label for every row of `rows` into `predictions` (as many as there are rows). A kernel on a device
// is one too.
using Classifier = std::function<Status(const Digits& digits, RowRange rows, std::span<uint8_t> predictions)>;

// Squared Euclidean distance in whole numbers, so that every machine gives the same answer; of two equally
// near images the one with the lower index counts. Never fails; rows.size() * digits.size() distances on one
// core.
Status ClassifyByNearest(const Digits& digits, RowRange rows, std::span<uint8_t> predictions);

}  // namespace muster::examples
