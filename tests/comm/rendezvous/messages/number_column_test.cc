#include "comm/rendezvous/messages/number_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "comm/rendezvous/messages/number_encoder.h"
#include "comm/rendezvous/messages/number_groups.h"

namespace muster::rendezvous {
namespace {

constexpr int kSmallest = std::numeric_limits<int>::min();
constexpr int kLargest = std::numeric_limits<int>::max();

Bytes Encoded(const std::vector<int>& numbers) {
  Bytes bytes;
  EncodeNumbers(numbers, bytes);
  return bytes;
}

// Absent: malformed, or bytes are left.
std::optional<NumberColumn> Open(const Bytes& bytes, size_t count) {
  std::string_view rest = AsText(bytes);
  std::optional<NumberColumn> column = NumberColumn::Open(rest, count);
  return rest.empty() ? column : std::nullopt;
}

Bytes Varints(std::initializer_list<uint64_t> numbers) {
  Bytes bytes;
  for (const uint64_t number : numbers) PutNumber(bytes, number);
  return bytes;
}
constexpr uint64_t Head(uint64_t items, uint64_t kind) { return items << kGroupBits | kind; }

void ExpectReadsBack(const std::vector<int>& numbers) {
  const Bytes bytes = Encoded(numbers);
  const auto column = Open(bytes, numbers.size());
  ASSERT_TRUE(column);
  EXPECT_EQ(column->All(), numbers);
  if (numbers.empty()) return;
  EXPECT_EQ(column->least(), std::ranges::min(numbers));
  EXPECT_EQ(column->most(), std::ranges::max(numbers));
  for (size_t i = 0; i < numbers.size(); i += 5) ASSERT_EQ((*column)[i], numbers[i]) << i;
  for (const int value : {numbers.front(), numbers[numbers.size() / 2], numbers.back(), 777, -3}) {
    std::vector<int> expected;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] == value) expected.push_back(static_cast<int>(i));
    }
    EXPECT_EQ(column->Find(value), expected) << value;
  }
}

TEST(NumberColumn, NumbersOfALayoutAreReadAsWritten) {
  for (const int ranks : {1, 2, 3, 5, 6, 7, 8, 12, 20, 64, 127, 128, 130}) {
    SCOPED_TRACE(ranks);
    std::vector<int> nodes;
    std::vector<int> local_ranks;
    for (int node = 0; node < 300; ++node) {
      for (int local = 0; local < (node == 200 ? ranks + 3 : ranks); ++local) {
        nodes.push_back(node == 250 ? 777 : node);
        local_ranks.push_back(local);
      }
    }
    ExpectReadsBack(nodes);
    ExpectReadsBack(local_ranks);
    std::ranges::reverse(nodes);
    ExpectReadsBack(nodes);
  }
}

// `srun --distribution=cyclic` and `plane=4`.
TEST(NumberColumn, RanksInTurnTakeAFewBytes) {
  std::vector<int> cyclic;
  std::vector<int> plane;
  for (int rank = 0; rank < 64 * 1000; ++rank) {
    cyclic.push_back(rank % 1000);
    plane.push_back(rank / 4 % 32);
  }
  ExpectReadsBack(cyclic);
  ExpectReadsBack(plane);
  EXPECT_LT(Encoded(cyclic).size(), 20U);
  EXPECT_LT(Encoded(plane).size(), 130U);
}

TEST(NumberColumn, AnyNumbersAreReadAsWritten) {
  std::mt19937 random(4);
  for (const int span : {1, 2, 3, 10, 255, 256, 70000, kLargest}) {
    SCOPED_TRACE(span);
    std::vector<int> numbers(3000);
    for (int& number : numbers) number = static_cast<int>(random() % static_cast<unsigned>(span)) - span / 2;
    ExpectReadsBack(numbers);
    // Between regular ones.
    for (size_t i = 900; i < 2100; ++i) numbers[i] = static_cast<int>(i % 10);
    ExpectReadsBack(numbers);
  }
  ExpectReadsBack({});
  ExpectReadsBack({kSmallest});
  ExpectReadsBack({kLargest, kSmallest, kLargest, 0, kSmallest, -1});
}

TEST(NumberColumn, IrregularNumbersTakeTheirBits) {
  std::mt19937 random(4);
  std::vector<int> pids(12500);
  for (int& pid : pids) pid = static_cast<int>(random() % (1U << 22));
  EXPECT_LT(Encoded(pids).size(), 12500 * 22 / 8 + 30);
  // An outlier does not widen the others.
  for (int& pid : pids) pid %= 8;
  pids[5000] = kLargest;
  EXPECT_LT(Encoded(pids).size(), 12500 * 3 / 8 + 800);
}

TEST(NumberColumn, NumbersOutsideOfAnIntAreMalformed) {
  constexpr uint64_t kMost = uint64_t{kLargest};
  EXPECT_TRUE(Open(Varints({Head(1, kRun), ZigZag(kLargest), 0}), 1));
  EXPECT_FALSE(Open(Varints({Head(1, kRun), ZigZag(int64_t{kLargest} + 1), 0}), 1));
  EXPECT_FALSE(Open(Varints({Head(2, kRun), ZigZag(kLargest), ZigZag(1)}), 2));
  EXPECT_TRUE(Open(Varints({Head(1, kPacked), 0, 0}), 1));
  EXPECT_FALSE(Open(Varints({Head(1, kPacked), ZigZag(1), kMost, 0, 0, 0, 0}), 1));
  const auto pattern = [](uint64_t parts) {
    return Varints({Head(8, kPattern), parts, ZigZag(1 << 28), Head(8, kRun), 0, 0});
  };
  EXPECT_TRUE(Open(pattern(8), 64));
  EXPECT_FALSE(Open(pattern(9), 72));
  // A difference that no two numbers have would leave the range of 64 bits.
  EXPECT_FALSE(Open(Varints({Head(1, kRun), uint64_t{1} << 63, 0}), 1));
}

TEST(NumberColumn, AGroupIsNotLargerThanItsColumn) {
  const Bytes bytes = Encoded({5, 5, 5, 5, 5, 5, 5, 5, 5});
  EXPECT_TRUE(Open(bytes, 9));
  EXPECT_FALSE(Open(bytes, 8));
  EXPECT_FALSE(Open(bytes, 10));
  EXPECT_FALSE(Open(Varints({Head(8, kPattern), 3, 0, Head(8, kRun), 0, 0}), 23));
  EXPECT_FALSE(Open(Varints({Head(8, kPattern), 3, 0, Head(9, kRun), 0, 0}), 24));
  EXPECT_FALSE(Open(Varints({Head(uint64_t{1} << 61, kPattern), 8, 0, Head(1, kRun), 0, 0}), 24));
}

TEST(NumberColumn, RefusesAPatternThatIsShortOrNestedOrHasManyGroups) {
  const auto pattern = [](uint64_t items, uint64_t parts) {
    return Varints({Head(items, kPattern), parts, 0, Head(items, kRun), 0, 0});
  };
  EXPECT_TRUE(Open(pattern(8, 2), 16));
  EXPECT_FALSE(Open(pattern(5, 3), 15));
  EXPECT_FALSE(Open(pattern(16, 1), 16));
  Bytes nested = Varints({Head(16, kPattern), 2, 0});
  for (const uint8_t byte : pattern(8, 2)) nested.push_back(byte);
  EXPECT_FALSE(Open(nested, 32));
  const auto groups = [](size_t count) {
    Bytes bytes = Varints({Head(count, kPattern), 2, 0});
    for (size_t i = 0; i < count; ++i) {
      for (const uint8_t byte : Varints({Head(1, kRun), 0, 0})) bytes.push_back(byte);
    }
    return bytes;
  };
  EXPECT_TRUE(Open(groups(kMostGroupsOfPattern), 2 * kMostGroupsOfPattern));
  EXPECT_FALSE(Open(groups(kMostGroupsOfPattern + 1), 2 * kMostGroupsOfPattern + 2));
}

TEST(NumberColumn, RefusesEmptyGroupsUnknownKindsAndMissingBits) {
  EXPECT_FALSE(Open(Varints({Head(0, kRun), 0, 0}), 1));
  EXPECT_FALSE(Open(Varints({Head(1, 3), 0, 0}), 1));
  EXPECT_TRUE(Open(Varints({Head(9, kPacked), 0, 1, 0, 0}), 9));
  EXPECT_FALSE(Open(Varints({Head(9, kPacked), 0, 1, 0}), 9));
  EXPECT_FALSE(Open(Varints({Head(1, kPacked), 0, uint64_t{1} << 32, 0, 0, 0, 0, 0}), 1));
}

// Else the bits of a sender would lead outside of the tables of a receiver.
TEST(NumberColumn, PackedNumbersStayWithinTheirSpan) {
  const Bytes bytes = Varints({
      Head(4, kPacked),
      ZigZag(10),
      2,
      0b01'11'10'00,
  });
  const auto column = Open(bytes, 4);
  ASSERT_TRUE(column);
  EXPECT_THAT(column->All(), testing::ElementsAre(10, 12, 12, 11));
  EXPECT_EQ(column->most(), 12);
}

}  // namespace
}  // namespace muster::rendezvous
