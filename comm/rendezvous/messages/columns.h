// Sequences of numbers and of texts in few bytes, if each resembles its predecessor: 100,000 ranks of a
// regular layout differ mostly in a counter. A column does not contain its length: its reader has the number
// of items.
//
// Reads bytes from outside: it is strict, and nothing grows beyond the reader's limit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// A sequence of texts.
struct TextColumn {
  std::string all;
  std::vector<size_t> ends;

  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(all).substr(begin, ends[i] - begin);
  }
};

// After the first mistake all that it reads is empty.
class ColumnReader {
 public:
  // `most_text`: bytes of all texts together.
  ColumnReader(ByteView bytes, size_t most_text) : rest_(AsText(bytes)), text_left_(most_text) {}

  uint64_t Number();
  std::vector<int> Numbers(size_t count);
  TextColumn Texts(size_t count);

  // Everything was read, and nothing was wrong.
  bool Finish() const { return ok_ && rest_.empty(); }
  bool ok() const { return ok_; }
  void MarkBad() { ok_ = false; }

 private:
  std::string_view Raw(size_t length);
  // Number of items in the next group; fails for more than `left`.
  size_t GroupSize(uint64_t size, size_t left);

  std::string_view rest_;
  size_t text_left_;
  bool ok_ = true;
};

}  // namespace muster::rendezvous
