#include "comm/socket/transport/inquiry.h"

#include <gtest/gtest.h>

namespace muster::socket {
namespace {

TEST(Answer, IsWrittenAndReadBack) {
  const Answer answer{Standing::kSame, {1, 2, 3}};
  EXPECT_EQ(DecodeAnswer(EncodeAnswer(answer)), answer);
  const Answer many{Standing::kSame, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  EXPECT_EQ(DecodeAnswer(EncodeAnswer(many)), (Answer{Standing::kSame, {1, 2, 3, 4, 5, 6, 7, 8}}));
  AnswerBytes bytes = EncodeAnswer(answer);
  bytes[1] = kAnswerRanks + 1;
  EXPECT_EQ(DecodeAnswer(bytes), std::nullopt);
  bytes = EncodeAnswer(answer);
  bytes[0] = 3;
  EXPECT_EQ(DecodeAnswer(bytes), std::nullopt);
}

}  // namespace
}  // namespace muster::socket
