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

// Every process passes over the columns of all ranks. A copy stays in registers meanwhile.
size_t NumberCursor::Pass(size_t items, size_t most, NumberLimits& passed) {
  // Two numbers differ by less.
  constexpr int64_t kLongestStep = int64_t{1} << 32;
  NumberCursor here = *this;
  NumberLimits limits = passed;
  size_t count = 0;
  while (count < items) {
    if (here.left_ == 0 && !here.BeginGroup()) return 0;
    const uint64_t taken = here.repeated_ ? std::min<uint64_t>(most - count, here.left_) : 1;
    if (!here.repeated_) {
      const std::optional<uint64_t> step = TakeNumber(here.rest_);
      if (!step) return 0;
      here.step_ = UnZigZag(*step);
    }
    if (here.step_ < -kLongestStep || here.step_ > kLongestStep) return 0;
    limits.Add(here.value_ + here.step_);
    here.value_ += here.step_ * static_cast<int64_t>(taken);
    limits.Add(here.value_);
    if (!std::in_range<int>(limits.least) || !std::in_range<int>(limits.most)) return 0;
    here.left_ -= taken;
    count += static_cast<size_t>(taken);
  }
  *this = here;
  passed = limits;
  return count;
}

size_t NumberCursor::PassAgain(const NumberCursor& before, size_t most) {
  if (!before.between_groups() || !between_groups()) return 0;
  const std::string_view part = before.rest_.substr(0, before.rest_.size() - rest_.size());
  size_t parts = 0;
  while (parts < most && rest_.substr(parts * part.size()).starts_with(part)) ++parts;
  SkipParts(parts, part.size(), value_ - before.value_);
  return parts;
}

void NumberCursor::SkipParts(size_t parts, size_t bytes, int64_t growth) {
  rest_.remove_prefix(parts * bytes);
  value_ += growth * static_cast<int64_t>(parts);
}

void NumberCursor::Skip(size_t items) {
  NumberLimits unused;
  Pass(items, items, unused);
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

size_t TextCursor::Pass(size_t items, size_t most) {
  size_t count = 0;
  while (count < items) {
    if (left_ == 0 && !BeginGroup()) return 0;
    const uint64_t taken = kind_ == kLiteral ? 1 : std::min<uint64_t>(most - count, left_);
    if (kind_ == kLiteral && !TakeLiteral()) return 0;
    if (kind_ == kSuccessor && !CountUp(text_, which_, taken)) return 0;
    bytes_passed_ += text_.size() * taken;
    left_ -= taken;
    count += static_cast<size_t>(taken);
  }
  return count;
}

NumberCursor NumberColumn::Before(size_t i) const {
  const NumberMark& mark = MarkBefore(i);
  const size_t part = (i - mark.first) / mark.items;
  NumberCursor cursor = mark.before;
  cursor.SkipParts(part, mark.bytes, mark.growth);
  cursor.Skip(i - mark.first - part * mark.items);
  return cursor;
}

std::vector<int> NumberColumn::All() const {
  std::vector<int> all(size_);
  if (size_ > 0) Before(0).Read(all);
  return all;
}

std::vector<int> NumberColumn::Find(int value) const {
  std::vector<int> found;
  for (const NumberMark& mark : marks_) {
    for (size_t part = 0; part < mark.parts; ++part) {
      const NumberLimits limits = mark.LimitsOf(part);
      if (value < limits.least || value > limits.most) continue;
      ForEach(mark.first + part * mark.items, mark.items, [&](size_t at, int here) {
        if (here == value) found.push_back(static_cast<int>(at));
      });
    }
  }
  return found;
}

template <typename Mark>
void ColumnReader::Read(size_t count, Column<Mark>& column, const auto& pass) {
  auto cursor = decltype(Mark::before)(rest_);
  for (size_t at = 0; ok_ && at < count;) {
    Mark& mark = column.marks_.emplace_back(Mark{.first = at, .before = cursor});
    const size_t passed = pass(cursor, mark, count - at);
    ok_ = passed > 0;
    at += passed;
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
  NumberLimits all;
  Read(count, column, [&](NumberCursor& cursor, NumberMark& mark, size_t left) -> size_t {
    mark.items = cursor.Pass(std::min(column.kEvery, left), left, mark.limits);
    if (mark.items == 0) return 0;
    mark.bytes = mark.before.rest().size() - cursor.rest().size();
    mark.growth = int64_t{cursor.value()} - mark.before.value();
    mark.parts = 1 + cursor.PassAgain(mark.before, left / mark.items - 1);
    for (const NumberLimits limits : {mark.limits, mark.LimitsOf(mark.parts - 1)}) {
      if (!std::in_range<int>(limits.least) || !std::in_range<int>(limits.most)) return 0;
      all.Add(limits.least);
      all.Add(limits.most);
    }
    return mark.parts * mark.items;
  });
  if (count > 0) column.limits_ = all;
  return ok_ ? std::move(column) : NumberColumn{};
}

TextColumn ColumnReader::Texts(size_t count) {
  TextColumn column;
  uint64_t bytes = 0;
  Read(count, column, [&](TextCursor& cursor, const TextMark&, size_t left) -> size_t {
    const size_t passed = cursor.Pass(std::min(column.kEvery, left), left);
    bytes = cursor.bytes_passed();
    return bytes <= text_left_ ? passed : 0;
  });
  column.bytes_ = static_cast<size_t>(bytes);
  if (ok_) text_left_ -= column.bytes_;
  return ok_ ? std::move(column) : TextColumn{};
}

}  // namespace muster::rendezvous
