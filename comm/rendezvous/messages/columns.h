// Sequences of numbers and of texts in few bytes, if each resembles its predecessor: 100,000 ranks of a
// regular layout differ mostly in a counter. A column does not contain its length: its reader has the number
// of items.
//
// A column is looked up where it is: its items are not decoded before.
//
// Reads bytes from outside: it is strict, and nothing grows beyond the reader's limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/rendezvous/messages/number_column.h"
#include "comm/rendezvous/messages/number_encoder.h"
#include "comm/rendezvous/messages/number_groups.h"

namespace muster::rendezvous {

class ColumnWriter {
 public:
  void Number(uint64_t value) { PutNumber(bytes_, value); }
  void Numbers(const std::vector<int>& values) { EncodeNumbers(values, bytes_); }
  void Texts(const std::vector<std::string_view>& texts);

  Bytes Take() { return std::move(bytes_); }

 private:
  void Raw(std::string_view bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  Bytes bytes_;
};

// A place in a column of texts, and the text before it. Valid as long as the bytes.
class TextCursor {
 public:
  explicit TextCursor(std::string_view bytes) : rest_(bytes) {}

  // Passes at least `items`: all of a group without literals, but not more than `most`. Returns how many; 0: malformed.
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
// step.
class TextColumn {
 public:
  static constexpr size_t kEvery = 128;

  size_t size() const { return size_; }
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

  struct Mark {
    size_t first;  // the item behind `before`
    TextCursor before;
  };

  // Has passed `i`.
  TextCursor After(size_t i) const {
    const Mark& mark = *std::prev(std::ranges::upper_bound(marks_, i, {}, &Mark::first));
    const size_t items = i - mark.first + 1;
    TextCursor cursor = mark.before;
    cursor.Pass(items, items);
    return cursor;
  }

  size_t size_ = 0;
  size_t bytes_ = 0;
  std::vector<Mark> marks_;
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
  std::string_view rest_;
  size_t text_left_;
  bool ok_ = true;
};

}  // namespace muster::rendezvous
