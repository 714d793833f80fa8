#include "comm/rendezvous/tcp_store/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::tcp_store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The decoder's view of `bytes`, which must be all of the answer.
Answer Decoded(Operation operation, const Bytes& bytes, size_t keys = 1) {
  AnswerDecoder decoder(Limits(), operation, keys);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(decoder.Scan(ByteView(bytes).first(length)), Result<bool>(false)) << length;
  }
  EXPECT_EQ(decoder.Scan(bytes), Result<bool>(true));
  EXPECT_EQ(decoder.size(), bytes.size());
  return decoder.answer();
}

TEST(Answer, OnlySomeRequestsHaveOne) {
  for (const Operation silent : {Operation::kValidate, Operation::kSet, Operation::kAppend,
                                 Operation::kMultiSet, Operation::kQueuePush}) {
    EXPECT_FALSE(IsAnswered(silent)) << static_cast<int>(silent);
  }
  EXPECT_TRUE(IsAnswered(Operation::kGet));
  EXPECT_TRUE(IsAnswered(Operation::kWait));
}

TEST(Answer, Numbers) {
  Bytes bytes;
  PutInteger<int64_t>(-7, bytes);
  for (const Operation operation :
       {Operation::kAdd, Operation::kNumKeys, Operation::kDelete, Operation::kQueueLen}) {
    EXPECT_EQ(Decoded(operation, bytes), (Answer{-7, {}}));
  }
  EXPECT_EQ(Decoded(Operation::kCancelWait, {1}), (Answer{1, {}}));
  EXPECT_EQ(Decoded(Operation::kPing, {1, 2, 0, 255}), (Answer{0xff000201, {}}));
}

TEST(Answer, Values) {
  Bytes bytes;
  PutText("one", bytes);
  PutText("", bytes);
  EXPECT_THAT(Decoded(Operation::kMultiGet, bytes, 2).texts, ElementsAre("one", ""));
  EXPECT_THAT(Decoded(Operation::kMultiGet, {}, 0).texts, IsEmpty());
}

TEST(Answer, CompareSetHasOneValueThoughItNamesThree) {
  Bytes bytes;
  PutText("now", bytes);
  EXPECT_THAT(Decoded(Operation::kCompareSet, bytes, 3).texts, ElementsAre("now"));
}

TEST(Answer, AQueueGivesOneOfItsValues) {
  Bytes bytes;
  PutInteger<int64_t>(3, bytes);
  PutText("first", bytes);
  EXPECT_THAT(Decoded(Operation::kQueuePop, bytes).texts, ElementsAre("first"));
  EXPECT_EQ(Decoded(Operation::kQueuePop, Bytes(8, 0)), Answer());
}

TEST(Answer, KeysAreListed) {
  Bytes bytes;
  PutInteger<int64_t>(2, bytes);
  PutText("/a", bytes);
  PutText("init/", bytes);
  EXPECT_EQ(Decoded(Operation::kListKeys, bytes), (Answer{2, {"/a", "init/"}}));
}

TEST(Answer, HostileLengthsAreRefused) {
  Bytes bytes;
  PutInteger<uint64_t>(uint64_t{1} << 40, bytes);
  AnswerDecoder decoder(Limits(), Operation::kGet);
  const auto whole = decoder.Scan(bytes);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error(),
            (Error{Code::kDisagreement,
                   "a value of 1099511627776 bytes is longer than the 268435456 that are allowed", ""}));
}

TEST(Answer, IsNotCollectedBeyondItsLimit) {
  Bytes bytes;
  PutInteger<int64_t>(1000, bytes);
  AnswerDecoder decoder(Limits{.message = 64}, Operation::kListKeys);
  for (int i = 0; i < 7; ++i) PutText("/", bytes);
  const auto whole = decoder.Scan(bytes);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().message, "an answer is longer than the 64 bytes that are allowed");
}

}  // namespace
}  // namespace muster::tcp_store
