// A column of numbers (number_groups.h has its bytes) that is looked up where it is.
//
// Reads bytes from outside: it is strict. Its memory grows with the bytes, and not with the numbers that they claim.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace muster::rendezvous {

// No number of some items is outside of these.
struct NumberLimits {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();

  void Add(int64_t number) {
    least = std::min(least, number);
    most = std::max(most, number);
  }
  bool AreOfInt() const;
};

// A run, or packed numbers. Valid as long as the bytes.
struct NumberGroup {
  size_t items = 0;
  int64_t first = 0;
  int64_t step = 0;
  uint64_t span = 0;
  std::string_view bits{};

  int64_t operator[](size_t i) const {
    return first + (span == 0 ? step * static_cast<int64_t>(i) : Packed(i));
  }
  int64_t Packed(size_t i) const;
  NumberLimits Limits() const;
};

// A place between two groups.
class NumberCursor {
 public:
  explicit NumberCursor(std::string_view bytes) : rest_(bytes) {}

  // A pattern begins here: its groups follow. `kind` is kPattern.
  struct Head {
    uint64_t kind = 0;
    size_t items = 0;
    size_t parts = 1;
    int64_t growth = 0;
  };
  // Of at most that many items. Absent: malformed.
  std::optional<Head> TakeHead(size_t most);
  std::optional<NumberGroup> TakeGroup(const Head& head);
  // Of bytes that have been checked.
  NumberGroup Next();
  // The next group's difference is from the last part.
  void Grow(int64_t by) { first_ += by; }

  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  int64_t first_ = 0;  // of the group before
};

class NumberColumn {
 public:
  static constexpr size_t kEvery = 128;

  // The first `count` numbers of `rest`, which goes on behind them. Absent: malformed.
  static std::optional<NumberColumn> Open(std::string_view& rest, size_t count);

  size_t size() const { return size_; }
  // Bounds: a sender may claim wider ones than its numbers have.
  int least() const { return static_cast<int>(limits_.least); }
  int most() const { return static_cast<int>(limits_.most); }

  int operator[](size_t i) const {
    int item = 0;
    Read(i, {&item, 1});
    return item;
  }
  void Read(size_t first, std::span<int> items) const;
  std::vector<int> All() const;
  void ForEach(const auto& call) const { ForEach(0, size_, call); }
  // Block by block: a look-up costs more than an item.
  void ForEach(size_t first, size_t count, const auto& call) const {
    std::array<int, kEvery> block;
    while (count > 0) {
      const std::span<int> items(block.data(), std::min(count, kEvery));
      Read(first, items);
      for (const int item : items) call(first++, item);
      count -= items.size();
    }
  }
  // The items that equal `value`, ascending.
  std::vector<int> Find(int value) const;

 private:
  // One before each pattern; else before the first group behind every kEvery items.
  struct Mark {
    size_t first;  // the item behind `before`
    NumberCursor before;
    size_t items = 0;  // of each part
    size_t parts = 1;
    int64_t growth = 0;     // of the numbers, from part to part
    NumberLimits limits{};  // of the first part

    // False: malformed.
    bool Add(const std::optional<NumberGroup>& group);
    bool OpenPattern(NumberCursor& cursor, const NumberCursor::Head& head);

    size_t end() const { return first + items * parts; }
    NumberLimits LimitsOf(size_t part) const;
    size_t FirstPartWith(int64_t value) const;
  };

  void FindLimits();
  static void ReadPart(const Mark& mark, size_t part, size_t at, std::span<int> items);
  static void FindInPart(const Mark& mark, size_t part, int64_t value, std::vector<int>& found);

  size_t size_ = 0;
  std::vector<Mark> marks_;
  NumberLimits limits_{0, 0};
};

}  // namespace muster::rendezvous
