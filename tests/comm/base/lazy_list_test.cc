#include "comm/base/lazy_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Item i is i.
struct Counting {
  void Read(size_t first, std::span<int> items) const {
    std::iota(items.begin(), items.end(), static_cast<int>(first));
    read->push_back(first);
  }
  std::vector<size_t>* read;
};

struct LazyListTest : testing::Test {
  LazyList<int, Counting> Make(size_t size) {
    return {size, std::make_shared<const Counting>(Counting{&read})};
  }

  std::vector<size_t> read;  // the first item of each piece
};

TEST_F(LazyListTest, DecodesAPieceOnceWhenAnItemOfItIsRead) {
  const auto list = Make(100);
  EXPECT_EQ(list.size(), 100U);
  EXPECT_THAT(read, IsEmpty());
  for (const size_t i : {99U, 98U, 3U, 97U, 0U}) EXPECT_EQ(list[i], static_cast<int>(i));
  EXPECT_THAT(read, ElementsAre(96U, 0U));
}

TEST_F(LazyListTest, CopiesShareWhatIsDecodedAndKeepIt) {
  auto list = std::make_unique<LazyList<int, Counting>>(Make(3));
  const LazyList<int, Counting> copy = *list;
  const int& item = (*list)[2];
  EXPECT_EQ(&copy[2], &item);
  list.reset();
  EXPECT_EQ(item, 2);
  EXPECT_THAT(read, ElementsAre(0U));
}

TEST_F(LazyListTest, AChangedCopyIsAnOrdinaryList) {
  const auto list = Make(40);
  auto copy = list;
  copy.own()[1] = 7;
  copy.push_back(8);
  EXPECT_EQ(copy.source(), nullptr);
  EXPECT_EQ(copy.size(), 41U);
  EXPECT_EQ(copy[1], 7);
  EXPECT_EQ(copy[40], 8);
  EXPECT_EQ(list[1], 1);
  EXPECT_NE(copy, list);
}

TEST_F(LazyListTest, EqualsAnOrdinaryListOfTheSameItems) {
  const auto list = Make(3);
  EXPECT_EQ(list, (LazyList<int, Counting>{0, 1, 2}));
  EXPECT_NE(list, (LazyList<int, Counting>{0, 1}));
  EXPECT_THAT(std::vector<int>(list.begin(), list.end()), ElementsAre(0, 1, 2));
  EXPECT_TRUE(Make(0).empty());
  EXPECT_EQ(Make(0), (LazyList<int, Counting>{}));
}

}  // namespace
}  // namespace muster
