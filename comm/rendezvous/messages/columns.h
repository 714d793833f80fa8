// Sequences of numbers and of texts in few bytes, if each resembles its predecessor: 100,000 ranks of a
// regular layout differ mostly in a counter. A column does not contain its length: its reader has the number
// of items.
//
// A column is looked up where it is: its items are not decoded before.
//
// Reads bytes from outside: it is strict, and nothing grows beyond the reader's limit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/bytes.h"

namespace muster::rendezvous {

class ColumnWriter {
 public:
  void Number(uint64_t value);  // one, at most 10 bytes
  void Numbers(const std::vector<int>& values);
  void Texts(const std::vector<std::string_view>& texts);

  Bytes Take() { return std::move(bytes_); }

 private:
  void Raw(std::string_view bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  Bytes bytes_;
};

// The least and the most of the numbers of some items.
struct NumberLimits {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();

  void Add(int64_t number) {
    least = std::min(least, number);
    most = std::max(most, number);
  }
};

// A place in a column, and the item before it. Valid as long as the bytes.
class NumberCursor {
 public:
  explicit NumberCursor(std::string_view bytes) : rest_(bytes) {}

  // Passes at least `items`: all of a group whose numbers are one step apart, but not more than `most`. Returns how many; 0:
  // malformed.
  size_t Pass(size_t items, size_t most, NumberLimits& passed);
  // Passes the bytes since `before` again, at most that many times, if they are whole groups and repeat. Returns how often.
  size_t PassAgain(const NumberCursor& before, size_t most);
  // Passes that many items, and stores them. Without limits: the column has been checked.
  void Read(std::span<int> items);
  void Skip(size_t items);
  // Passes that many parts of a column. Each has `bytes` bytes, and the number behind it is larger by `growth`.
  void SkipParts(size_t parts, size_t bytes, int64_t growth);
  int value() const { return static_cast<int>(value_); }

  bool between_groups() const { return left_ == 0; }
  std::string_view rest() const { return rest_; }

 private:
  bool BeginGroup();

  std::string_view rest_;
  uint64_t left_ = 0;  // items of this group
  bool repeated_ = false;
  int64_t step_ = 0;
  int64_t value_ = 0;
};

class TextCursor {
 public:
  explicit TextCursor(std::string_view bytes) : rest_(bytes) {}

  // As of numbers: all of a group without literals.
  size_t Pass(size_t items, size_t most);
  const std::string& value() const { return text_; }
  // Of the texts that it has passed, together; at most that many.
  uint64_t bytes_passed() const { return bytes_passed_; }

  bool between_groups() const { return left_ == 0; }
  std::string_view rest() const { return rest_; }

 private:
  bool BeginGroup();
  bool TakeLiteral();

  std::string_view rest_;
  uint64_t left_ = 0;
  uint64_t kind_ = 0;
  uint64_t which_ = 0;
  std::string text_;
  uint64_t bytes_passed_ = 0;
};

// A column is looked up from the last mark before an item: one at every kEvery-th item, none within what a cursor passes in one
// step. Mark has: size_t first, the item behind `before`; a cursor.
template <typename Mark>
class Column {
 public:
  static constexpr size_t kEvery = 128;

  size_t size() const { return size_; }

 protected:
  friend class ColumnReader;

  const Mark& MarkBefore(size_t i) const {
    return *std::prev(std::ranges::upper_bound(marks_, i, {}, &Mark::first));
  }

  size_t size_ = 0;
  std::vector<Mark> marks_;
};

struct TextMark {
  size_t first;
  TextCursor before;
};

class TextColumn : public Column<TextMark> {
 public:
  size_t bytes() const { return bytes_; }  // of all texts together
  std::string operator[](size_t i) const { return After(i).value(); }
  void ForEach(const auto& call) const { ForEach(0, size_, call); }
  void ForEach(size_t first, size_t count, const auto& call) const {
    if (count == 0) return;
    TextCursor cursor = After(first);
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) cursor.Pass(1, 1);
      call(first + i, cursor.value());
    }
  }

 private:
  friend class ColumnReader;

  // Has passed `i`.
  TextCursor After(size_t i) const {
    const TextMark& mark = MarkBefore(i);
    const size_t items = i - mark.first + 1;
    TextCursor cursor = mark.before;
    cursor.Pass(items, items);
    return cursor;
  }

  size_t bytes_ = 0;
};

// The numbers of a regular layout repeat from node to node: parts of the same bytes have one mark.
struct NumberMark {
  size_t first;
  NumberCursor before;
  size_t parts = 0;
  size_t items = 0;       // of each part
  size_t bytes = 0;       // of each part
  int64_t growth = 0;     // of the number, from part to part
  NumberLimits limits{};  // of the first part

  NumberLimits LimitsOf(size_t part) const {
    const int64_t grown = growth * static_cast<int64_t>(part);
    return {limits.least + grown, limits.most + grown};
  }
};

class NumberColumn : public Column<NumberMark> {
 public:
  int least() const { return static_cast<int>(limits_.least); }
  int most() const { return static_cast<int>(limits_.most); }
  int operator[](size_t i) const {
    int item = 0;
    Before(i).Read({&item, 1});
    return item;
  }
  std::vector<int> All() const;
  void ForEach(const auto& call) const { ForEach(0, size_, call); }
  // Block by block: a call for each item costs more than the item.
  void ForEach(size_t first, size_t count, const auto& call) const {
    if (count == 0) return;
    std::array<int, kEvery> block;
    for (NumberCursor cursor = Before(first); count > 0;) {
      const std::span<int> items(block.data(), std::min(count, kEvery));
      cursor.Read(items);
      for (const int item : items) call(first++, item);
      count -= items.size();
    }
  }
  // The items that equal `value`, ascending.
  std::vector<int> Find(int value) const;

 private:
  friend class ColumnReader;

  // Has passed the items before `i`, which is one of the column.
  NumberCursor Before(size_t i) const;

  NumberLimits limits_{0, 0};
};

// After the first mistake all that it reads is empty. Columns are valid as long as the bytes.
class ColumnReader {
 public:
  // `most_text`: bytes of all texts together.
  ColumnReader(ByteView bytes, size_t most_text) : rest_(AsText(bytes)), text_left_(most_text) {}

  uint64_t Number();
  NumberColumn Numbers(size_t count);
  TextColumn Texts(size_t count);

  // Everything was read, and nothing was wrong.
  bool Finish() const { return ok_ && rest_.empty(); }
  bool ok() const { return ok_; }

 private:
  // `pass` passes the items behind a mark, at most that many, and returns how many; 0: malformed.
  template <typename Mark>
  void Read(size_t count, Column<Mark>& column, const auto& pass);

  std::string_view rest_;
  size_t text_left_;
  bool ok_ = true;
};

}  // namespace muster::rendezvous
