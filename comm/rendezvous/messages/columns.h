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

// A place in a column, and the item before it. Valid as long as the bytes.
class NumberCursor {
 public:
  explicit NumberCursor(std::string_view bytes) : rest_(bytes) {}

  // Passes that many items. False: malformed.
  bool Advance(size_t items);
  // The same, and stores them. Without limits: the column has been checked.
  void Read(std::span<int> items);
  int value() const { return static_cast<int>(value_); }
  // All that it has passed.
  int least() const { return static_cast<int>(least_); }
  int most() const { return static_cast<int>(most_); }
  void ForgetPassed();

  bool between_groups() const { return left_ == 0; }
  std::string_view rest() const { return rest_; }

 private:
  // The place before a group.
  struct Start {
    std::string_view rest;
    int64_t value = 0;
    size_t items = 0;  // to pass from here
  };

  bool BeginGroup();
  bool Pass(size_t items);
  size_t SkipEqual(const Start& start, size_t items);

  std::string_view rest_;
  uint64_t left_ = 0;  // items of this group
  bool repeated_ = false;
  int64_t step_ = 0;
  int64_t value_ = 0;
  int64_t least_ = std::numeric_limits<int64_t>::max();
  int64_t most_ = std::numeric_limits<int64_t>::min();
};

class TextCursor {
 public:
  explicit TextCursor(std::string_view bytes) : rest_(bytes) {}

  bool Advance(size_t items);
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

// A cursor at every kEvery-th item.
template <typename Cursor>
class Column {
 public:
  static constexpr size_t kEvery = 128;

  size_t size() const { return size_; }
  auto operator[](size_t i) const { return After(i).value(); }
  // Has passed `i`.
  Cursor After(size_t i) const {
    Cursor cursor = marks_[i / kEvery];
    cursor.Advance(i % kEvery + 1);
    return cursor;
  }

 protected:
  friend class ColumnReader;

  size_t size_ = 0;
  std::vector<Cursor> marks_;
};

class TextColumn : public Column<TextCursor> {
 public:
  size_t bytes() const { return bytes_; }  // of all texts together
  void ForEach(const auto& call) const { ForEach(0, size_, call); }
  void ForEach(size_t first, size_t count, const auto& call) const {
    if (count == 0) return;
    TextCursor cursor = After(first);
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) cursor.Advance(1);
      call(first + i, cursor.value());
    }
  }

 private:
  friend class ColumnReader;

  size_t bytes_ = 0;
};

class NumberColumn : public Column<NumberCursor> {
 public:
  int least() const { return least_; }
  int most() const { return most_; }
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

  // Least and most of the items from each mark to the next.
  std::vector<std::pair<int, int>> limits_;
  int least_ = 0;
  int most_ = 0;
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
  // `passed` is called with a cursor that has passed the items from one mark to the next.
  template <typename Cursor>
  void Read(size_t count, Column<Cursor>& column, const auto& passed);

  std::string_view rest_;
  size_t text_left_;
  bool ok_ = true;
};

}  // namespace muster::rendezvous
