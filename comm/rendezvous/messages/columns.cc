#include "comm/rendezvous/messages/columns.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "comm/base/parse_integer.h"

namespace muster::rendezvous {
namespace {

// A column is a sequence of groups. The number before a group has its size, and in its lowest bits what it is.

// ---- numbers: each as its difference from the one before; the first, from 0
constexpr unsigned kNumberBits = 1;
constexpr uint64_t kRepeated = 1;  // one difference, for all
constexpr size_t kShortestRepeated = 3;

// ---- texts
constexpr unsigned kTextBits = 2;
constexpr uint64_t kLiteral = 0;    // length of the prefix shared with the previous text, and the remainder
constexpr uint64_t kSame = 1;       // as the one before
constexpr uint64_t kSuccessor = 2;  // the previous text with one number counted up; its index

constexpr size_t kLongestNumber = 18;  // digits

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Small differences of either sign are small numbers.
uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// The place of the number `which` of a text; empty: it has none.
std::pair<size_t, size_t> FindNumber(std::string_view text, uint64_t which) {
  size_t end = 0;
  for (;;) {
    const size_t begin = static_cast<size_t>(
        std::find_if(text.begin() + static_cast<ptrdiff_t>(end), text.end(), IsDigit) - text.begin());
    end = static_cast<size_t>(
        std::find_if_not(text.begin() + static_cast<ptrdiff_t>(begin), text.end(), IsDigit) - text.begin());
    if (begin == end || which-- == 0) return {begin, end};
  }
}

// By 1, "n09" becomes "n10", "n99" becomes "n100". False: it has no such number, or one that is too long.
bool CountUp(std::string& text, uint64_t which, uint64_t by) {
  constexpr uint64_t kLargest = 999'999'999'999'999'999;  // has kLongestNumber digits
  const auto [begin, end] = FindNumber(text, which);
  if (begin == end || end - begin > kLongestNumber) return false;
  const uint64_t number =
      ParseInteger<uint64_t>(std::string_view(text).substr(begin, end - begin)).value_or(kLargest);
  if (by > kLargest || number > kLargest - (by - 1)) return false;
  std::string counted = std::to_string(number + by);
  if (counted.size() < end - begin) counted.insert(0, end - begin - counted.size(), '0');
  text.replace(begin, end - begin, counted);
  return true;
}

// The number of `before` to count up in order to make `text`.
std::optional<uint64_t> WhichCounts(std::string_view before, std::string_view text) {
  const auto differs = static_cast<size_t>(std::ranges::mismatch(before, text).in1 - before.begin());
  if (differs == before.size() || !IsDigit(before[differs])) return std::nullopt;
  uint64_t which = 0;
  while (FindNumber(before, which).second <= differs) ++which;
  std::string next(before);
  if (!CountUp(next, which, 1) || next != text) return std::nullopt;
  return which;
}

struct TextStep {
  uint64_t kind = kLiteral;
  uint64_t which = 0;

  friend bool operator==(const TextStep&, const TextStep&) = default;
};

TextStep StepTo(std::string_view before, std::string_view text) {
  if (text == before) return {kSame, 0};
  if (const auto which = WhichCounts(before, text)) return {kSuccessor, *which};
  return {};
}

}  // namespace

// ---- writing

void ColumnWriter::Number(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<uint8_t>(value | 0x80));
  bytes_.push_back(static_cast<uint8_t>(value));
}

void ColumnWriter::Numbers(const std::vector<int>& values) {
  std::vector<uint64_t> steps;
  steps.reserve(values.size());
  int64_t before = 0;
  for (const int value : values) steps.push_back(ZigZag(value - std::exchange(before, value)));
  const auto run_at = [&](size_t at) {
    size_t end = at + 1;
    while (end < steps.size() && steps[end] == steps[at]) ++end;
    return end - at;
  };
  for (size_t at = 0; at < steps.size();) {
    const size_t run = run_at(at);
    if (run >= kShortestRepeated) {
      Number(run << kNumberBits | kRepeated);
      Number(steps[at]);
      at += run;
      continue;
    }
    size_t end = at + run;
    while (end < steps.size()) {
      const size_t next = run_at(end);
      if (next >= kShortestRepeated) break;
      end += next;
    }
    Number((end - at) << kNumberBits);
    for (; at < end; ++at) Number(steps[at]);
  }
}

void ColumnWriter::Texts(const std::vector<std::string_view>& texts) {
  std::string_view before;
  for (size_t at = 0; at < texts.size();) {
    const TextStep step = StepTo(before, texts[at]);
    size_t end = at + 1;
    while (end < texts.size() && StepTo(texts[end - 1], texts[end]) == step) ++end;
    Number((end - at) << kTextBits | step.kind);
    if (step.kind == kSuccessor) Number(step.which);
    for (; at < end; before = texts[at++]) {
      if (step.kind != kLiteral) continue;
      const auto common = static_cast<size_t>(std::ranges::mismatch(before, texts[at]).in1 - before.begin());
      Number(common);
      Number(texts[at].size() - common);
      Raw(texts[at].substr(common));
    }
  }
}

// ---- reading

namespace {

std::optional<std::string_view> TakeRaw(std::string_view& rest, uint64_t length) {
  if (length > rest.size()) return std::nullopt;
  const std::string_view taken = rest.substr(0, static_cast<size_t>(length));
  rest.remove_prefix(taken.size());
  return taken;
}

// Small: it becomes part of the loops that call it.
inline std::optional<uint64_t> TakeNumber(std::string_view& rest) {
  if (!rest.empty() && static_cast<uint8_t>(rest.front()) < 0x80) {
    const auto only = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    return only;
  }
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

}  // namespace

inline bool NumberCursor::BeginGroup() {
  const std::optional<uint64_t> head = TakeNumber(rest_);
  if (!head) return false;
  left_ = *head >> kNumberBits;
  repeated_ = (*head & kRepeated) != 0;
  if (!repeated_) return left_ > 0;
  const std::optional<uint64_t> step = TakeNumber(rest_);
  step_ = UnZigZag(step.value_or(0));
  return step && left_ > 0;
}

inline bool NumberCursor::Pass(size_t items) {
  // Two numbers differ by less.
  constexpr int64_t kLongestStep = int64_t{1} << 32;
  Start before_last{};
  Start last{};
  while (items > 0) {
    if (left_ == 0) {
      if (const size_t skipped = SkipEqual(before_last, items); skipped > 0) {
        items -= skipped;
        last = {};
      }
      before_last = std::exchange(last, {rest_, value_, items});
      if (!BeginGroup()) return false;
    }
    const uint64_t passed = repeated_ ? std::min<uint64_t>(items, left_) : 1;
    if (!repeated_) {
      const std::optional<uint64_t> step = TakeNumber(rest_);
      if (!step) return false;
      step_ = UnZigZag(*step);
    }
    if (step_ < -kLongestStep || step_ > kLongestStep) return false;
    const int64_t first = value_ + step_;
    value_ += step_ * static_cast<int64_t>(passed);
    if (!std::in_range<int>(first) || !std::in_range<int>(value_)) return false;
    least_ = std::min({least_, first, value_});
    most_ = std::max({most_, first, value_});
    left_ -= passed;
    items -= static_cast<size_t>(passed);
  }
  return true;
}

// The ranks of a regular layout have two groups for each node, always the same. Skips all but the last of the equal parts that
// follow those since `start`. In between no number is the least or the most. Returns the number of items.
inline size_t NumberCursor::SkipEqual(const Start& start, size_t items) {
  // Most parts that differ do so in the first number of a group of single ones.
  if (start.rest.size() < 2 || rest_.size() < 2 || start.rest[1] != rest_[1]) return 0;
  if ((static_cast<uint8_t>(start.rest[0]) & kRepeated) != 0) return 0;
  const size_t bytes = start.rest.size() - rest_.size();
  const size_t each = start.items - items;
  const size_t parts = items / each;
  if (parts < 2 || parts * bytes > rest_.size()) return 0;
  if (start.rest.substr(0, parts * bytes) != rest_.substr(0, parts * bytes)) return 0;
  rest_.remove_prefix((parts - 1) * bytes);
  value_ += (value_ - start.value) * static_cast<int64_t>(parts - 1);
  return (parts - 1) * each;
}

// Every process passes over the columns of all ranks. A copy stays in registers meanwhile.
bool NumberCursor::Advance(size_t items) {
  NumberCursor here = *this;
  const bool ok = here.Pass(items);
  *this = here;
  return ok;
}

void NumberCursor::Read(std::span<int> items) {
  NumberCursor here = *this;
  while (!items.empty()) {
    if (here.left_ == 0 && !here.BeginGroup()) break;
    const std::span<int> group =
        items.first(static_cast<size_t>(std::min<uint64_t>(items.size(), here.left_)));
    for (int& item : group) {
      if (!here.repeated_) here.step_ = UnZigZag(TakeNumber(here.rest_).value_or(0));
      here.value_ += here.step_;
      item = static_cast<int>(here.value_);
    }
    here.left_ -= group.size();
    items = items.subspan(group.size());
  }
  *this = here;
}

void NumberCursor::ForgetPassed() {
  least_ = std::numeric_limits<int64_t>::max();
  most_ = std::numeric_limits<int64_t>::min();
}

bool TextCursor::BeginGroup() {
  const std::optional<uint64_t> head = TakeNumber(rest_);
  if (!head) return false;
  left_ = *head >> kTextBits;
  kind_ = *head & ((1U << kTextBits) - 1);
  if (kind_ != kSuccessor) return kind_ < kSuccessor && left_ > 0;
  const std::optional<uint64_t> which = TakeNumber(rest_);
  which_ = which.value_or(0);
  return which && left_ > 0;
}

bool TextCursor::TakeLiteral() {
  const std::optional<uint64_t> common = TakeNumber(rest_);
  if (!common || *common > text_.size()) return false;
  const std::optional<uint64_t> length = TakeNumber(rest_);
  if (!length) return false;
  const std::optional<std::string_view> text = TakeRaw(rest_, *length);
  if (!text) return false;
  text_.replace(static_cast<size_t>(*common), std::string::npos, *text);
  return true;
}

bool TextCursor::Advance(size_t items) {
  while (items > 0) {
    if (left_ == 0 && !BeginGroup()) return false;
    const uint64_t passed = kind_ == kLiteral ? 1 : std::min<uint64_t>(items, left_);
    if (kind_ == kLiteral && !TakeLiteral()) return false;
    if (kind_ == kSuccessor && !CountUp(text_, which_, passed)) return false;
    bytes_passed_ += text_.size() * passed;
    left_ -= passed;
    items -= static_cast<size_t>(passed);
  }
  return true;
}

NumberCursor NumberColumn::Before(size_t i) const {
  NumberCursor cursor = marks_[i / kEvery];
  cursor.Advance(i % kEvery);
  return cursor;
}

std::vector<int> NumberColumn::All() const {
  std::vector<int> all(size_);
  if (size_ > 0) Before(0).Read(all);
  return all;
}

std::vector<int> NumberColumn::Find(int value) const {
  std::vector<int> found;
  for (size_t mark = 0; mark < marks_.size(); ++mark) {
    if (value < limits_[mark].first || value > limits_[mark].second) continue;
    const size_t first = mark * kEvery;
    ForEach(first, std::min(kEvery, size_ - first), [&](size_t at, int here) {
      if (here == value) found.push_back(static_cast<int>(at));
    });
  }
  return found;
}

template <typename Cursor>
void ColumnReader::Read(size_t count, Column<Cursor>& column, const auto& passed) {
  Cursor cursor(rest_);
  for (size_t at = 0; ok_ && at < count; at += column.kEvery) {
    column.marks_.push_back(cursor);
    ok_ = cursor.Advance(std::min(column.kEvery, count - at)) && passed(cursor);
  }
  // A group is not larger than its column.
  ok_ = ok_ && cursor.between_groups();
  if (!ok_) return;
  column.size_ = count;
  rest_ = cursor.rest();
}

uint64_t ColumnReader::Number() {
  const std::optional<uint64_t> number = ok_ ? TakeNumber(rest_) : std::nullopt;
  ok_ = number.has_value();
  return number.value_or(0);
}

NumberColumn ColumnReader::Numbers(size_t count) {
  NumberColumn column;
  Read(count, column, [&](NumberCursor& cursor) {
    const bool first = column.limits_.empty();
    const auto [least, most] = column.limits_.emplace_back(cursor.least(), cursor.most());
    column.least_ = first ? least : std::min(column.least_, least);
    column.most_ = first ? most : std::max(column.most_, most);
    cursor.ForgetPassed();
    return true;
  });
  return ok_ ? std::move(column) : NumberColumn{};
}

TextColumn ColumnReader::Texts(size_t count) {
  TextColumn column;
  uint64_t bytes = 0;
  Read(count, column, [&](const TextCursor& cursor) {
    bytes = cursor.bytes_passed();
    return bytes <= text_left_;
  });
  column.bytes_ = static_cast<size_t>(bytes);
  if (ok_) text_left_ -= column.bytes_;
  return ok_ ? std::move(column) : TextColumn{};
}

}  // namespace muster::rendezvous
