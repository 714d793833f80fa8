#include "comm/socket/transport/inquiry.h"

#include <gtest/gtest.h>

namespace muster::socket {
namespace {

TEST(Answer, IsOneByte) {
  EXPECT_EQ(DecodeAnswer({0}), Standing::kElsewhere);
  EXPECT_EQ(DecodeAnswer({1}), Standing::kSame);
  EXPECT_EQ(DecodeAnswer({2}), Standing::kDisagrees);
  EXPECT_EQ(DecodeAnswer({3}), Standing::kLeft);
  EXPECT_EQ(DecodeAnswer({4}), std::nullopt);
}

}  // namespace
}  // namespace muster::socket
