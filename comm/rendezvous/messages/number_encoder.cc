#include "comm/rendezvous/messages/number_encoder.h"

#include <algorithm>
#include <span>
#include <utility>

#include "comm/rendezvous/messages/number_column.h"
#include "comm/rendezvous/messages/number_groups.h"

namespace muster::rendezvous {
namespace {

// Fewer numbers in one run take less when they are packed with those around them.
constexpr size_t kShortestRun = 8;
// Runs that a pattern must save to be worth its head.
constexpr size_t kLeastSaved = 4;
// Numbers with a common width, at least; and the bits of a group's head.
constexpr size_t kPackedTogether = 128;
constexpr size_t kHeadBits = 64;

struct Run {
  size_t items = 0;
  int64_t first = 0;
  int64_t step = 0;
};

std::vector<Run> RunsOf(std::span<const int> values) {
  std::vector<Run> runs;
  const auto step_to = [&](size_t i) { return int64_t{values[i]} - values[i - 1]; };
  for (size_t at = 0; at < values.size();) {
    size_t end = at + 1;
    const int64_t step = end < values.size() ? step_to(end) : 0;
    while (end < values.size() && step_to(end) == step) ++end;
    runs.push_back({end - at, values[at], step});
    at = end;
  }
  return runs;
}

struct Pattern {
  size_t runs = 0;
  size_t parts = 1;

  size_t saved() const { return runs * (parts - 1); }
};

// Of runs that are equal except for their first number, which grows by the same from part to part.
size_t PartsOf(std::span<const Run> runs, size_t pattern) {
  const int64_t growth = runs[pattern].first - runs[0].first;
  size_t end = pattern;
  const auto repeats = [&](const Run& run, const Run& before) {
    return run.items == before.items && run.step == before.step && run.first - before.first == growth;
  };
  while (end < runs.size() && repeats(runs[end], runs[end - pattern])) ++end;
  return end / pattern;
}

size_t ItemsOf(std::span<const Run> runs) {
  size_t items = 0;
  for (const Run& run : runs) items += run.items;
  return items;
}

// At the first of these runs; parts 1: none.
Pattern FindPattern(std::span<const Run> runs) {
  Pattern best;
  for (size_t length = 1; length <= kMostGroupsOfPattern && 2 * length <= runs.size(); ++length) {
    const Pattern pattern{length, PartsOf(runs, length)};
    if (pattern.saved() > best.saved()) best = pattern;
    if (best.runs * best.parts + best.runs > runs.size()) break;
  }
  const bool is_worth_it =
      best.saved() >= kLeastSaved && ItemsOf(runs.first(best.runs)) * best.parts >= kShortestPattern;
  return is_worth_it ? best : Pattern{};
}

NumberLimits LimitsOf(std::span<const int> values) {
  NumberLimits limits;
  for (const int value : values) limits.Add(value);
  return limits;
}
NumberLimits Union(NumberLimits a, const NumberLimits& b) {
  a.Add(b.least);
  a.Add(b.most);
  return a;
}
uint64_t SpanOf(const NumberLimits& limits) { return static_cast<uint64_t>(limits.most - limits.least); }

class Encoder {
 public:
  Encoder(const std::vector<int>& values, Bytes& bytes) : values_(values), bytes_(bytes) {}

  void Encode() {
    const std::vector<Run> all = RunsOf(values_);
    for (std::span<const Run> runs = all; !runs.empty();) {
      const Pattern pattern = FindPattern(runs);
      if (pattern.parts > 1) {
        FlushPacked();
        PutPattern(runs, pattern);
      } else if (runs.front().items >= kShortestRun) {
        FlushPacked();
        PutRun(runs.front());
        at_ += runs.front().items;
      } else {
        to_pack_ += runs.front().items;
        at_ += runs.front().items;
      }
      runs = runs.subspan(std::max<size_t>(1, pattern.runs * pattern.parts));
    }
    FlushPacked();
  }

 private:
  void PutHead(size_t items, uint64_t kind) { PutNumber(bytes_, items << kGroupBits | kind); }
  void PutFirst(int64_t first) { PutNumber(bytes_, ZigZag(first - std::exchange(first_, first))); }

  void PutRun(const Run& run) {
    PutHead(run.items, kRun);
    PutFirst(run.first);
    PutNumber(bytes_, ZigZag(run.step));
  }

  void PutPattern(std::span<const Run> runs, const Pattern& pattern) {
    const int64_t growth = runs[pattern.runs].first - runs[0].first;
    const size_t items = ItemsOf(runs.first(pattern.runs));
    PutHead(items, kPattern);
    PutNumber(bytes_, pattern.parts);
    PutNumber(bytes_, ZigZag(growth));
    for (const Run& run : runs.first(pattern.runs)) PutRun(run);
    first_ += growth * static_cast<int64_t>(pattern.parts - 1);
    at_ += items * pattern.parts;
  }

  // Those before `at_` that no run and no pattern has.
  void FlushPacked() {
    std::span<const int> values = std::span(values_).subspan(at_ - to_pack_, to_pack_);
    to_pack_ = 0;
    while (!values.empty()) {
      const auto [items, limits] = PackedTogether(values);
      PutPacked(values.first(items), limits);
      values = values.subspan(items);
    }
  }

  // As many of the first values as take less in one group than in two.
  static std::pair<size_t, NumberLimits> PackedTogether(std::span<const int> values) {
    const auto bits = [](size_t items, const NumberLimits& limits) {
      return items * WidthOf(SpanOf(limits));
    };
    size_t items = std::min(values.size(), kPackedTogether);
    NumberLimits limits = LimitsOf(values.first(items));
    while (items < values.size()) {
      const size_t more = std::min(values.size() - items, kPackedTogether);
      const NumberLimits next = LimitsOf(values.subspan(items, more));
      const NumberLimits both = Union(limits, next);
      if (bits(items + more, both) > bits(items, limits) + bits(more, next) + kHeadBits) break;
      items += more;
      limits = both;
    }
    return {items, limits};
  }

  void PutPacked(std::span<const int> values, const NumberLimits& limits) {
    PutHead(values.size(), kPacked);
    PutFirst(limits.least);
    PutNumber(bytes_, SpanOf(limits));
    const unsigned width = WidthOf(SpanOf(limits));
    uint64_t bits = 0;
    unsigned filled = 0;
    for (const int value : values) {
      bits |= static_cast<uint64_t>(value - limits.least) << filled;
      for (filled += width; filled >= 8; filled -= 8, bits >>= 8)
        bytes_.push_back(static_cast<uint8_t>(bits));
    }
    if (filled > 0) bytes_.push_back(static_cast<uint8_t>(bits));
  }

  const std::vector<int>& values_;
  Bytes& bytes_;
  int64_t first_ = 0;   // of the last group
  size_t at_ = 0;       // values that are written or wait
  size_t to_pack_ = 0;  // the last of these
};

}  // namespace

void EncodeNumbers(const std::vector<int>& values, Bytes& bytes) { Encoder(values, bytes).Encode(); }

}  // namespace muster::rendezvous
