#include "comm/rendezvous/messages/number_column.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "comm/rendezvous/messages/number_groups.h"

namespace muster::rendezvous {
namespace {

// Two numbers differ by less.
bool IsDifference(int64_t value) {
  constexpr int64_t kLargest = int64_t{1} << 32;
  return value >= -kLargest && value <= kLargest;
}

std::optional<int64_t> TakeDifference(std::string_view& rest) {
  const std::optional<uint64_t> taken = TakeNumber(rest);
  if (!taken || !IsDifference(UnZigZag(*taken))) return std::nullopt;
  return UnZigZag(*taken);
}

}  // namespace

bool NumberLimits::AreOfInt() const { return std::in_range<int>(least) && std::in_range<int>(most); }

// ---- one group

int64_t NumberGroup::Packed(size_t i) const {
  const unsigned width = WidthOf(span);
  const size_t bit = i * width;
  uint64_t eight = 0;
  const std::string_view from = bits.substr(bit / 8);
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&eight, from.data(), std::min<size_t>(from.size(), sizeof eight));
  } else {
    for (size_t byte = 0; byte < std::min<size_t>(from.size(), sizeof eight); ++byte)
      eight |= uint64_t{static_cast<uint8_t>(from[byte])} << (8 * byte);
  }
  // Larger ones are malformed. They count as `span`: so nothing is outside of the limits, and the check passes no number.
  return static_cast<int64_t>(std::min(eight >> (bit % 8) & ((uint64_t{1} << width) - 1), span));
}

NumberLimits NumberGroup::Limits() const {
  NumberLimits limits;
  limits.Add(first);
  limits.Add(first + static_cast<int64_t>(span));
  limits.Add(first + step * static_cast<int64_t>(items - 1));
  return limits;
}

// ---- a place between groups

std::optional<NumberCursor::Head> NumberCursor::TakeHead(size_t most) {
  const std::optional<uint64_t> taken = TakeNumber(rest_);
  if (!taken) return std::nullopt;
  Head head;
  head.kind = *taken & ((1U << kGroupBits) - 1);
  const uint64_t items = *taken >> kGroupBits;
  if (head.kind > kPattern || items == 0 || items > most) return std::nullopt;
  head.items = static_cast<size_t>(items);
  if (head.kind != kPattern) return head;
  const std::optional<uint64_t> parts = TakeNumber(rest_);
  const std::optional<int64_t> growth = TakeDifference(rest_);
  if (!parts || !growth || *parts < 2 || *parts > most / items || *parts * items < kShortestPattern)
    return std::nullopt;
  head.parts = static_cast<size_t>(*parts);
  head.growth = *growth;
  return head;
}

std::optional<NumberGroup> NumberCursor::TakeGroup(const Head& head) {
  const std::optional<int64_t> difference = TakeDifference(rest_);
  if (!difference) return std::nullopt;
  first_ += *difference;
  NumberGroup group{.items = head.items, .first = first_};
  if (head.kind == kRun) {
    const std::optional<int64_t> step = TakeDifference(rest_);
    if (!step) return std::nullopt;
    group.step = *step;
    return group;
  }
  const std::optional<uint64_t> span = TakeNumber(rest_);
  if (!span || !std::in_range<uint32_t>(*span)) return std::nullopt;
  group.span = *span;
  const size_t bytes = PackedBytes(group.items, WidthOf(group.span));
  if (bytes > rest_.size()) return std::nullopt;
  group.bits = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return group;
}

NumberGroup NumberCursor::Next() {
  const auto head = TakeHead(std::numeric_limits<size_t>::max());
  return head ? TakeGroup(*head).value_or(NumberGroup{}) : NumberGroup{};
}

// ---- the column

NumberLimits NumberColumn::Mark::LimitsOf(size_t part) const {
  const int64_t grown = growth * static_cast<int64_t>(part);
  return {limits.least + grown, limits.most + grown};
}

bool NumberColumn::Mark::Add(const std::optional<NumberGroup>& group) {
  if (!group) return false;
  const NumberLimits added = group->Limits();
  limits.Add(added.least);
  limits.Add(added.most);
  items += group->items;
  return limits.AreOfInt();
}

// Behind the head.
bool NumberColumn::Mark::OpenPattern(NumberCursor& cursor, const NumberCursor::Head& head) {
  for (size_t groups = 0; items < head.items; ++groups) {
    const auto next = cursor.TakeHead(head.items - items);
    if (!next || next->kind == kPattern || groups == kMostGroupsOfPattern) return false;
    if (!Add(cursor.TakeGroup(*next))) return false;
  }
  parts = head.parts;
  growth = head.growth;
  cursor.Grow(growth * static_cast<int64_t>(parts - 1));
  return LimitsOf(parts - 1).AreOfInt();
}

std::optional<NumberColumn> NumberColumn::Open(std::string_view& rest, size_t count) {
  NumberColumn column;
  std::vector<Mark>& marks = column.marks_;
  NumberCursor cursor(rest);
  for (size_t at = 0; at < count; at = marks.back().end()) {
    const NumberCursor before = cursor;
    const auto head = cursor.TakeHead(count - at);
    if (!head) return std::nullopt;
    if (head->kind == kPattern) {
      marks.push_back({.first = at, .before = cursor});
      if (!marks.back().OpenPattern(cursor, *head)) return std::nullopt;
      continue;
    }
    if (marks.empty() || marks.back().parts > 1 || marks.back().items >= kEvery)
      marks.push_back({.first = at, .before = before});
    if (!marks.back().Add(cursor.TakeGroup(*head))) return std::nullopt;
  }
  column.size_ = count;
  column.FindLimits();
  rest = cursor.rest();
  return column;
}

void NumberColumn::FindLimits() {
  if (size_ == 0) return;
  NumberLimits all;
  for (const Mark& mark : marks_) {
    for (const NumberLimits limits : {mark.limits, mark.LimitsOf(mark.parts - 1)}) {
      all.Add(limits.least);
      all.Add(limits.most);
    }
  }
  limits_ = all;
}

void NumberColumn::Read(size_t first, std::span<int> items) const {
  while (!items.empty()) {
    const Mark& mark = *std::prev(std::ranges::upper_bound(marks_, first, {}, &Mark::first));
    const size_t part = (first - mark.first) / mark.items;
    const size_t at = (first - mark.first) % mark.items;
    const std::span<int> here = items.first(std::min(items.size(), mark.items - at));
    ReadPart(mark, part, at, here);
    items = items.subspan(here.size());
    first += here.size();
  }
}

void NumberColumn::ReadPart(const Mark& mark, size_t part, size_t at, std::span<int> items) {
  const int64_t grown = mark.growth * static_cast<int64_t>(part);
  for (NumberCursor cursor = mark.before; !items.empty();) {
    const NumberGroup group = cursor.Next();
    if (at >= group.items) {
      at -= group.items;
      continue;
    }
    const size_t taken = std::min(items.size(), group.items - at);
    for (int& item : items.first(taken)) item = static_cast<int>(group[at++] + grown);
    items = items.subspan(taken);
    at = 0;
  }
}

std::vector<int> NumberColumn::All() const {
  std::vector<int> all(size_);
  Read(0, all);
  return all;
}

std::vector<int> NumberColumn::Find(int value) const {
  std::vector<int> found;
  for (const Mark& mark : marks_) {
    for (size_t part = mark.FirstPartWith(value); part < mark.parts; ++part) {
      const NumberLimits limits = mark.LimitsOf(part);
      if (value < limits.least || value > limits.most) break;
      FindInPart(mark, part, value, found);
    }
  }
  return found;
}

// The parts with a number within whose limits a value is follow each other.
size_t NumberColumn::Mark::FirstPartWith(int64_t value) const {
  const int64_t missing = growth > 0 ? value - limits.most : limits.least - value;
  if (missing <= 0 || growth == 0) return 0;
  const int64_t by = growth > 0 ? growth : -growth;
  return static_cast<size_t>((missing + by - 1) / by);
}

void NumberColumn::FindInPart(const Mark& mark, size_t part, int64_t value, std::vector<int>& found) {
  value -= mark.growth * static_cast<int64_t>(part);
  size_t at = mark.first + part * mark.items;
  size_t passed = 0;
  for (NumberCursor cursor = mark.before; passed < mark.items;) {
    const NumberGroup group = cursor.Next();
    const NumberLimits limits = group.Limits();
    passed += group.items;
    for (size_t i = 0; i < group.items && value >= limits.least && value <= limits.most; ++i) {
      if (group[i] == value) found.push_back(static_cast<int>(at + i));
    }
    at += group.items;
  }
}

}  // namespace muster::rendezvous
