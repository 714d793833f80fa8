#include "comm/rendezvous/messages/columns.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

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

// "n09" becomes "n10", "n99" becomes "n100". False: it has no such number.
bool CountUp(std::string& text, uint64_t which) {
  const auto [begin, end] = FindNumber(text, which);
  if (begin == end || end - begin > kLongestNumber) return false;
  for (size_t at = end; at-- > begin;) {
    if (text[at] != '9') {
      ++text[at];
      return true;
    }
    text[at] = '0';
  }
  text.insert(begin, 1, '1');
  return true;
}

// The number of `before` to count up in order to make `text`.
std::optional<uint64_t> WhichCounts(std::string_view before, std::string_view text) {
  const auto differs = static_cast<size_t>(std::ranges::mismatch(before, text).in1 - before.begin());
  if (differs == before.size() || !IsDigit(before[differs])) return std::nullopt;
  uint64_t which = 0;
  while (FindNumber(before, which).second <= differs) ++which;
  std::string next(before);
  if (!CountUp(next, which) || next != text) return std::nullopt;
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

std::string_view ColumnReader::Raw(size_t length) {
  if (!ok_ || length > rest_.size()) {
    ok_ = false;
    return {};
  }
  const std::string_view taken = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return taken;
}

uint64_t ColumnReader::Number() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::string_view byte = Raw(1);
    if (byte.empty()) return 0;
    value |= static_cast<uint64_t>(byte[0] & 0x7f) << shift;
    if ((byte[0] & 0x80) == 0) return value;
  }
  ok_ = false;
  return 0;
}

size_t ColumnReader::GroupSize(uint64_t size, size_t left) {
  if (size == 0 || size > left) ok_ = false;
  return ok_ ? static_cast<size_t>(size) : 0;
}

std::vector<int> ColumnReader::Numbers(size_t count) {
  std::vector<int> values;
  values.reserve(count);
  int64_t value = 0;
  const auto step = [&](uint64_t by) {
    // Beyond an int it stays beyond, instead of wrapping around.
    constexpr int64_t kFurthest = int64_t{1} << 40;
    value = std::clamp(value + std::clamp(UnZigZag(by), -kFurthest, kFurthest), -kFurthest, kFurthest);
    if (!std::in_range<int>(value)) ok_ = false;
    values.push_back(static_cast<int>(value));
  };
  while (ok_ && values.size() < count) {
    const uint64_t head = Number();
    size_t size = GroupSize(head >> kNumberBits, count - values.size());
    const bool repeated = (head & kRepeated) != 0;
    const uint64_t by = repeated ? Number() : 0;
    for (; ok_ && size > 0; --size) step(repeated ? by : Number());
  }
  if (!ok_) values.clear();
  return values;
}

TextColumn ColumnReader::Texts(size_t count) {
  TextColumn column;
  column.ends.reserve(count);
  std::string text;
  const auto add = [&] {
    if (text.size() > text_left_) ok_ = false;
    if (!ok_) return;
    text_left_ -= text.size();
    column.all += text;
    column.ends.push_back(column.all.size());
  };
  while (ok_ && column.ends.size() < count) {
    const uint64_t head = Number();
    size_t size = GroupSize(head >> kTextBits, count - column.ends.size());
    const uint64_t kind = head & ((1U << kTextBits) - 1);
    if (kind > kSuccessor) ok_ = false;
    const uint64_t which = kind == kSuccessor ? Number() : 0;
    for (; ok_ && size > 0; --size) {
      if (kind == kLiteral) {
        const uint64_t common = Number();
        if (common > text.size()) ok_ = false;
        if (!ok_) break;
        text.resize(static_cast<size_t>(common));
        text += Raw(static_cast<size_t>(Number()));
      } else if (kind == kSuccessor && !CountUp(text, which)) {
        ok_ = false;
      }
      add();
    }
  }
  return ok_ ? std::move(column) : TextColumn{};
}

}  // namespace muster::rendezvous
