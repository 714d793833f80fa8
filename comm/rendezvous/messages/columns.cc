#include "comm/rendezvous/messages/columns.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "comm/base/parse_integer.h"

namespace muster::rendezvous {
namespace {

// A column of texts is a sequence of groups. The number before a group has its size, and in its lowest bits what it is.
constexpr unsigned kTextBits = 2;
constexpr uint64_t kLiteral = 0;    // length of the prefix shared with the previous text, and the remainder
constexpr uint64_t kSame = 1;       // as the one before
constexpr uint64_t kSuccessor = 2;  // the previous text with one number counted up; its index

constexpr size_t kLongestNumber = 18;  // digits

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

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

}  // namespace

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

uint64_t ColumnReader::Number() {
  const std::optional<uint64_t> number = ok_ ? TakeNumber(rest_) : std::nullopt;
  ok_ = number.has_value();
  return number.value_or(0);
}

NumberColumn ColumnReader::Numbers(size_t count) {
  std::optional<NumberColumn> column = ok_ ? NumberColumn::Open(rest_, count) : std::nullopt;
  ok_ = column.has_value();
  return std::move(column).value_or(NumberColumn{});
}

TextColumn ColumnReader::Texts(size_t count) {
  TextColumn column;
  TextCursor cursor(rest_);
  while (ok_ && column.size_ < count) {
    column.marks_.push_back({column.size_, cursor});
    const size_t left = count - column.size_;
    const size_t passed = cursor.Pass(std::min(column.kEvery, left), left);
    ok_ = passed > 0 && cursor.bytes_passed() <= text_left_;
    column.size_ += passed;
  }
  // A group is not larger than its column.
  ok_ = ok_ && cursor.between_groups();
  if (!ok_) return {};
  rest_ = cursor.rest();
  column.bytes_ = static_cast<size_t>(cursor.bytes_passed());
  text_left_ -= column.bytes_;
  return column;
}

}  // namespace muster::rendezvous
