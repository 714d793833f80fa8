#include "comm/map/journal/durations.h"

#include <algorithm>
#include <bit>

namespace muster::map {

uint8_t ShortTime(Duration took) {
  const auto ns = static_cast<uint64_t>(std::max<Duration::rep>(took.count(), 1));
  const auto octave = static_cast<unsigned>(std::bit_width(ns) - 1);
  const uint64_t quarter = octave < 2 ? 0 : (ns >> (octave - 2)) & 3;
  return static_cast<uint8_t>(octave * 4 + quarter);
}

Duration LongTime(uint8_t bucket) {
  const uint64_t start = uint64_t{1} << (bucket / 4);
  return Duration(static_cast<Duration::rep>(start + start / 4 * (bucket % 4)));
}

void Durations::Add(Duration took) {
  Bucket& bucket = buckets_[ShortTime(took)];
  ++bucket.count;
  bucket.longest = std::max(bucket.longest, took);
  ++count_;
  total_ += static_cast<double>(std::max<Duration::rep>(took.count(), 0));
}

Duration Durations::Quantile(double share) const {
  uint64_t seen = 0;
  for (const Bucket& bucket : buckets_) {
    seen += bucket.count;
    if (bucket.count > 0 && static_cast<double>(seen) >= share * static_cast<double>(count_))
      return bucket.longest;
  }
  return {};
}

Duration Durations::Mean() const {
  if (count_ == 0) return {};
  return Duration(static_cast<Duration::rep>(total_ / static_cast<double>(count_)));
}

}  // namespace muster::map
