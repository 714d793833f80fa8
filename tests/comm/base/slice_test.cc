#include "comm/base/slice.h"

#include <gtest/gtest.h>

#include <optional>

namespace muster {
namespace {

TEST(Slice, ACopyIsTheSameMemoryAndKeepsIt) {
  std::optional<Slice> first = Slice(Bytes{1, 2, 3});
  const Slice second = *first;
  EXPECT_EQ(second.view().data(), first->view().data());
  first.reset();
  EXPECT_EQ(second, (Slice{1, 2, 3}));
}

TEST(Slice, APartKeepsTheWhole) {
  auto whole = std::make_shared<const Bytes>(Bytes{1, 2, 3, 4});
  const Slice part(whole, ByteView(*whole).subspan(1, 2));
  whole.reset();
  EXPECT_EQ(part, (Slice{2, 3}));
  EXPECT_EQ(part.size(), 2u);
}

TEST(Slice, IsComparedByItsBytes) {
  EXPECT_EQ(Slice(), Slice(Bytes{}));
  EXPECT_TRUE(Slice().empty());
  EXPECT_NE((Slice{1, 2}), (Slice{1, 3}));
  EXPECT_NE((Slice{1, 2}), (Slice{1, 2, 0}));
}

}  // namespace
}  // namespace muster
