#include "comm/rendezvous/tcp_store/request.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/comm/base/print_error.h"

namespace muster::tcp_store {
namespace {

using testing::IsEmpty;

Bytes Encoded(const Request& request) {
  Bytes bytes;
  Encode(request, bytes);
  return bytes;
}

std::string Hex(const Bytes& bytes) { return fmt::format("{:02x}", fmt::join(bytes, "")); }

Bytes FromText(std::string_view text) { return {text.begin(), text.end()}; }

std::vector<Request> AllKinds() {
  return {
      {Operation::kValidate, {}, kValidationNumber},
      {Operation::kSet, {"/k", "value"}},
      {Operation::kCompareSet, {"/k", "", "new"}},
      {Operation::kGet, {"/k"}},
      {Operation::kAdd, {"/k"}, -5},
      {Operation::kCheck, {"/a", "/b"}},
      {Operation::kCheck, {}},
      {Operation::kWait, {"/a", "", "/b"}},
      {Operation::kNumKeys, {}},
      {Operation::kDelete, {"/k"}},
      {Operation::kAppend, {"/k", "more"}},
      {Operation::kMultiGet, {"/a"}},
      {Operation::kMultiSet, {"/a", "1", "/b", ""}},
      {Operation::kCancelWait, {}},
      {Operation::kPing, {}, 0xfffffffe},
      {Operation::kQueuePush, {"/q", "v"}},
      {Operation::kQueuePop, {"/q"}},
      {Operation::kQueueLen, {"/q"}},
      {Operation::kListKeys, {}},
      {Operation::kBarrier, {"/b"}, 64},
  };
}

// The bytes that a client of PyTorch 2.6 was seen to send when it joined.
TEST(Request, IsEncodedAsPyTorchDoes) {
  EXPECT_EQ(Hex(Encoded({Operation::kValidate, {}, kValidationNumber})), "00cef7853c");
  EXPECT_EQ(Hex(Encoded({Operation::kPing, {}, 0x1234})), "0d34120000");
  EXPECT_EQ(Hex(Encoded({Operation::kAdd, {"init/"}, 1})),
            "040500000000000000"
            "696e69742f"
            "0100000000000000");
  EXPECT_EQ(Hex(Encoded({Operation::kWait, {"/a"}})),
            "06"
            "0100000000000000"
            "0200000000000000"
            "2f61");
}

TEST(Request, EveryKindIsDecodedAsItWasEncoded) {
  for (const Request& request : AllKinds()) {
    const Bytes bytes = Encoded(request);
    RequestDecoder decoder{Limits()};
    const auto whole = decoder.Scan(bytes);
    ASSERT_TRUE(whole) << Hex(bytes) << ": " << whole.error().message;
    EXPECT_TRUE(*whole) << Hex(bytes);
    EXPECT_EQ(decoder.request(), request) << Hex(bytes);
    EXPECT_EQ(decoder.size(), bytes.size());
  }
}

TEST(Request, AByteAtATimeMakesNoDifference) {
  Bytes stream;
  for (const Request& request : AllKinds()) Encode(request, stream);
  const std::vector<Request> expected = AllKinds();
  RequestDecoder decoder{Limits()};
  Bytes input;
  size_t decoded = 0;
  for (const uint8_t byte : stream) {
    input.push_back(byte);
    const auto whole = decoder.Scan(input);
    ASSERT_TRUE(whole);
    if (!*whole) continue;
    ASSERT_LT(decoded, expected.size());
    EXPECT_EQ(decoder.request(), expected[decoded++]);
    EXPECT_EQ(decoder.size(), input.size()) << "it waited for more than it needed";
    input.clear();
    decoder.Restart();
  }
  EXPECT_EQ(decoded, expected.size());
  EXPECT_THAT(input, IsEmpty());
}

TEST(Request, WhatFollowsBelongsToTheNext) {
  Bytes stream = Encoded({Operation::kSet, {"/k", "v"}});
  const size_t first = stream.size();
  Encode({Operation::kNumKeys, {}}, stream);
  RequestDecoder decoder{Limits()};
  ASSERT_EQ(decoder.Scan(stream), Result<bool>(true));
  EXPECT_EQ(decoder.size(), first);
}

struct Refusal {
  Bytes input;
  std::string message;
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, ComesBeforeTheBytesDo) {
  RequestDecoder decoder(Limits{.key = 10, .value = 20, .keys = 3, .message = 100});
  const auto whole = decoder.Scan(GetParam().input);
  ASSERT_FALSE(whole) << Hex(GetParam().input);
  EXPECT_EQ(whole.error(), (Error{Code::kDisagreement, GetParam().message, ""}));
}

Bytes WithLength(std::string_view start, uint64_t length) {
  Bytes bytes = FromText(start);
  PutInteger(length, bytes);
  return bytes;
}

Bytes SetWithLength(uint64_t length) {
  Bytes bytes = FromText("\x01");
  PutText("key", bytes);
  PutInteger(length, bytes);
  return bytes;
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    testing::Values(
        Refusal{FromText("\x13"), "there is no operation 19"},
        Refusal{FromText("GET / HTTP"), "there is no operation 71"},
        Refusal{WithLength("\x03", 11), "a key of 11 bytes is longer than the 10 that are allowed"},
        Refusal{WithLength("\x03", ~uint64_t{0}),
                "a key of 18446744073709551615 bytes is longer than the 10 that are allowed"},
        Refusal{SetWithLength(21), "a value of 21 bytes is longer than the 20 that are allowed"},
        Refusal{WithLength("\x05", 4), "a request with 4 keys has more than the 3 that are allowed"},
        Refusal{WithLength("\x0b", uint64_t{1} << 63),
                "a request with 9223372036854775808 keys has more than the 3 that are allowed"}));

TEST(Request, IsNotCollectedBeyondItsLimit) {
  RequestDecoder decoder(Limits{.key = 10, .value = 20, .keys = 100, .message = 50});
  Bytes input = WithLength("\x05", 90);
  for (int i = 0; i < 2; ++i) PutText("1234567", input);
  EXPECT_EQ(decoder.Scan(input), Result<bool>(false));
  PutText("1234567", input);
  const auto whole = decoder.Scan(input);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().message, "a request is longer than the 50 bytes that are allowed");
}

TEST(Request, InOnePieceTheLimitIsTheSame) {
  const std::string value(20, 'v');
  const Request request{Operation::kSet, {"/k", value}};
  const uint64_t length = Encoded(request).size();
  RequestDecoder fits(Limits{.message = length});
  EXPECT_EQ(fits.Scan(Encoded(request)), Result<bool>(true));
  RequestDecoder does_not(Limits{.message = length - 1});
  EXPECT_FALSE(does_not.Scan(Encoded(request)));
}

TEST(Request, ManyKeysThatArePromisedCostNothing) {
  RequestDecoder decoder{Limits()};
  const auto whole = decoder.Scan(WithLength("\x06", 128 * 1024));
  EXPECT_EQ(whole, Result<bool>(false));
  EXPECT_THAT(decoder.request().texts.capacity(), 0u);
}

}  // namespace
}  // namespace muster::tcp_store
