#include "comm/auth/handshake/handshake_messages.h"

#include <gtest/gtest.h>

namespace muster::auth {
namespace {

template <size_t N>
std::array<uint8_t, N> Filled(uint8_t value) {
  std::array<uint8_t, N> bytes{};
  bytes.fill(value);
  return bytes;
}

TEST(MeetingIdOf, DependsOnTheKey) {
  EXPECT_EQ(MeetingIdOf("job 7"), MeetingIdOf("job 7"));
  EXPECT_NE(MeetingIdOf("job 7"), MeetingIdOf("job 8"));
}

TEST(HandshakeMessages, HelloReadsBack) {
  const HelloMessage hello{kProtocolVersion, AuthMethod::kMunge, Filled<16>(2), Filled<32>(3), Filled<32>(4)};
  const Bytes bytes = Encode(hello);
  EXPECT_EQ(bytes.size(), kHelloBytesBeforeMac);
  EXPECT_EQ(AsText(ByteView(bytes).first(6)), "MUSTER");
  ASSERT_EQ(TypeOf(bytes), MessageType::kHello);
  const auto parsed = ParseHello(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->version, kProtocolVersion);
  EXPECT_EQ(parsed->method, AuthMethod::kMunge);
  EXPECT_EQ(parsed->meeting, hello.meeting);
  EXPECT_EQ(parsed->nonce, hello.nonce);
  EXPECT_EQ(parsed->public_key, hello.public_key);
  for (size_t length = 7; length < bytes.size(); ++length)
    EXPECT_FALSE(ParseHello(ByteView(bytes).first(length)));
}

TEST(HandshakeMessages, AHelloWithASecretEndsWithItsMac) {
  HelloMessage hello{kProtocolVersion, AuthMethod::kSecret, Filled<16>(2), Filled<32>(3), Filled<32>(4)};
  const Bytes without = Encode(hello);
  ASSERT_TRUE(ParseHello(without));
  EXPECT_FALSE(ParseHello(without)->mac);
  hello.mac = HelloMac(Filled<32>(5), without);
  const Bytes bytes = Encode(hello);
  EXPECT_EQ(bytes.size(), kHelloBytesBeforeMac + 32);
  ASSERT_TRUE(ParseHello(bytes));
  EXPECT_EQ(ParseHello(bytes)->mac, hello.mac);
  EXPECT_EQ(HelloMac(Filled<32>(5), bytes), *hello.mac) << "the MAC is not over itself";
  EXPECT_NE(HelloMac(Filled<32>(6), bytes), *hello.mac);
  for (size_t length = without.size() + 1; length < bytes.size(); ++length)
    EXPECT_FALSE(ParseHello(ByteView(bytes).first(length)));
  // With munge, too, if there is a secret; without a proof there is none.
  Bytes other = bytes;
  other[9] = static_cast<uint8_t>(AuthMethod::kMunge);
  ASSERT_TRUE(ParseHello(other));
  EXPECT_EQ(ParseHello(other)->mac, hello.mac);
  other[9] = static_cast<uint8_t>(AuthMethod::kNone);
  EXPECT_FALSE(ParseHello(other));
}

TEST(HandshakeMessages, OfAnotherVersionTheCommonPartIsRead) {
  Bytes bytes = Encode(HelloMessage{513, AuthMethod::kSecret, Filled<16>(2), {}, {}});
  bytes.resize(26);
  const auto parsed = ParseHello(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->version, 513);
  EXPECT_EQ(parsed->method, AuthMethod::kSecret);
  EXPECT_EQ(parsed->meeting, Filled<16>(2));
  bytes.resize(25);
  EXPECT_FALSE(ParseHello(bytes));
}

TEST(HandshakeMessages, AnswerReadsBack) {
  const AnswerMessage answer{kProtocolVersion, AuthMethod::kNone, Filled<32>(3), Filled<32>(4)};
  Bytes bytes = Encode(answer);
  EXPECT_EQ(bytes.size(), kAnswerBytes);
  bytes.push_back(9);
  ASSERT_EQ(TypeOf(bytes), MessageType::kAnswer);
  const auto parsed = ParseAnswer(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->nonce, answer.nonce);
  EXPECT_EQ(parsed->public_key, answer.public_key);
  EXPECT_FALSE(ParseAnswer(ByteView(bytes).first(kAnswerBytes - 1)));
}

TEST(HandshakeMessages, RejectReadsBack) {
  Bytes bytes = Encode(RejectMessage{2, AuthMethod::kSecret, RejectReason::kOtherMethod});
  ASSERT_EQ(TypeOf(bytes), MessageType::kReject);
  const auto parsed = ParseReject(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->version, 2);
  EXPECT_EQ(parsed->method, AuthMethod::kSecret);
  EXPECT_EQ(parsed->reason, RejectReason::kOtherMethod);
  bytes.push_back(0);
  EXPECT_FALSE(ParseReject(bytes));
}

// The others: handshake_vectors_test.cc.
TEST(HandshakeMessages, RejectAndVerdictAreTheseBytes) {
  EXPECT_EQ(Encode(RejectMessage{2, AuthMethod::kSecret, RejectReason::kOtherMethod}),
            (Bytes{'M', 'U', 'S', 'T', 'E', 'R', 3, 2, 0, 2, 3}));
  EXPECT_EQ(EncodeVerdict({false, "no", "ask"}), (Bytes{0, 2, 0, 0, 0, 'n', 'o', 3, 0, 0, 0, 'a', 's', 'k'}));
  EXPECT_EQ(EncodeVerdict({true, "", ""}), (Bytes{1, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(HandshakeMessages, SealedPartIsWhatWasPutIn) {
  const Bytes bytes = EncodeSealed(MessageType::kProof, AsBytes("sealed"));
  EXPECT_EQ(TypeOf(bytes), MessageType::kProof);
  EXPECT_EQ(AsText(SealedPartOf(bytes)), "sealed");
}

TEST(HandshakeMessages, VerdictReadsBackPrintable) {
  const auto accepted = ParseVerdict(EncodeVerdict({true, "", ""}));
  ASSERT_TRUE(accepted);
  EXPECT_TRUE(accepted->accepted);
  const auto refused = ParseVerdict(EncodeVerdict({false, "a\n\x1b[31mb", std::string(5000, 'h')}));
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->accepted);
  EXPECT_EQ(refused->message, "a  [31mb");
  EXPECT_EQ(refused->hint, std::string(1000, 'h'));
  EXPECT_FALSE(ParseVerdict({}));
  EXPECT_FALSE(ParseVerdict(AsBytes("\x01\xff\xff\xff\xff")));
}

TEST(TypeOf, KnowsMusterByItsFirstBytes) {
  EXPECT_EQ(TypeOf(AsBytes("MUSTER\x05")), MessageType::kVerdict);
  for (const std::string_view other :
       {std::string_view("MUSTER\x00", 7), std::string_view("MUSTER\x06"), std::string_view("MUSTER"),
        std::string_view("XUSTER\x01"), std::string_view()}) {
    EXPECT_EQ(TypeOf(AsBytes(other)), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace muster::auth
