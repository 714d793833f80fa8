#include "deploy/examples/nearest_neighbour.h"

#include <limits>

namespace muster::examples {
namespace {

struct Nearest {
  int32_t distance = std::numeric_limits<int32_t>::max();
  size_t row = 0;
};

// 64 * 16 * 16 fits easily; 16-bit differences let the compiler multiply and add eight at a time.
int32_t SquaredDistance(const uint8_t* a, const uint8_t* b) {
  int32_t sum = 0;
  for (size_t i = 0; i < kPixels; ++i) {
    const auto difference = static_cast<int16_t>(a[i] - b[i]);
    sum += difference * difference;
  }
  return sum;
}

void Search(const Digits& digits, const uint8_t* image, RowRange candidates, Nearest& nearest) {
  for (size_t row = candidates.begin; row < candidates.end; ++row) {
    const int32_t distance = SquaredDistance(image, digits.image(row));
    if (distance < nearest.distance) nearest = {distance, row};
  }
}

}  // namespace

Status ClassifyByNearest(const Digits& digits, RowRange rows, std::span<uint8_t> predictions) {
  for (size_t row = rows.begin; row < rows.end; ++row) {
    Nearest nearest;
    Search(digits, digits.image(row), {0, row}, nearest);
    Search(digits, digits.image(row), {row + 1, digits.size()}, nearest);
    predictions[row - rows.begin] = digits.labels[nearest.row];
  }
  return {};
}

}  // namespace muster::examples
