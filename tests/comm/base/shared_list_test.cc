#include "comm/base/shared_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SharedList, CopiesShareOneMemory) {
  const SharedList<int> list = {1, 2, 3};
  const SharedList<int> copy = list;  // NOLINT(performance-unnecessary-copy-initialization): the subject
  EXPECT_EQ(&copy.front(), &list.front());
}

TEST(SharedList, AChangedCopyHasItsOwnMemory) {
  const SharedList<int> list = {1, 2, 3};
  SharedList<int> copy = list;
  copy.own()[0] = 7;
  copy.push_back(4);
  EXPECT_THAT(copy, ElementsAre(7, 2, 3, 4));
  EXPECT_THAT(list, ElementsAre(1, 2, 3));
  copy.clear();
  EXPECT_THAT(copy, IsEmpty());
  EXPECT_NE(copy, list);
}

TEST(SharedList, ChangesInPlaceWithoutCopies) {
  SharedList<int> list = {1, 2, 3};
  const int* const first = &list.front();
  list.own()[1] = 5;
  EXPECT_EQ(&list.front(), first);
}

TEST(SharedList, WithoutItemsIsAVectorWithoutItems) {
  SharedList<int> list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list, SharedList<int>(std::vector<int>{}));
  list.push_back(1);
  EXPECT_THAT(list, ElementsAre(1));
}

}  // namespace
}  // namespace muster
