// Durations of items: one in a byte, many as a distribution. Values.
#pragma once

#include <array>
#include <cstdint>

#include "comm/base/deadline.h"

namespace muster::map {

// In buckets a quarter of an octave wide.
uint8_t ShortTime(Duration took);
// The shortest time of that bucket.
Duration LongTime(uint8_t bucket);

class Durations {
 public:
  void Add(Duration took);
  // At least this share of them took no longer; zero before the first.
  Duration Quantile(double share) const;
  // Zero before the first.
  Duration Mean() const;
  uint64_t count() const { return count_; }

 private:
  struct Bucket {
    uint64_t count = 0;
    Duration longest{};
  };
  std::array<Bucket, 256> buckets_{};
  uint64_t count_ = 0;
  double total_ = 0;  // nanoseconds
};

}  // namespace muster::map
