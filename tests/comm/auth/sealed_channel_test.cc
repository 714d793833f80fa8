#include "comm/auth/sealed_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace muster::auth {
namespace {

static_assert(!std::is_copy_constructible_v<Sealer> && !std::is_copy_assignable_v<Sealer>);

class SealedChannelTest : public testing::Test {
 protected:
  static SecretKey KeyOf(uint8_t number) { return DeriveKey({}, {ByteView(&number, 1)}); }
  static void ExpectNotAuthentic(const Result<Bytes>& opened, int number) {
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::kAuthentication);
    EXPECT_EQ(opened.error().message,
              fmt::format("message {} from gpu02 is not authentic: changed, repeated or missing on the way",
                          number));
  }

  Sealer sealer{KeyOf(1)};
  Opener opener{KeyOf(1), "gpu02"};
};

TEST_F(SealedChannelTest, OpensInOrderWhatWasSealed) {
  for (const std::string_view text : {"one", "", "three"}) {
    const Bytes sealed = sealer.Seal(AsBytes(text));
    EXPECT_EQ(sealed.size(), text.size() + kSealOverhead);
    const Result<Bytes> opened = opener.Open(sealed);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(AsText(*opened), text);
  }
}

TEST_F(SealedChannelTest, SameTextNeverLooksTheSame) {
  EXPECT_NE(sealer.Seal(AsBytes("text")), sealer.Seal(AsBytes("text")));
}

TEST_F(SealedChannelTest, RefusesARepeatedMessage) {
  const Bytes sealed = sealer.Seal(AsBytes("text"));
  ASSERT_TRUE(opener.Open(sealed));
  ExpectNotAuthentic(opener.Open(sealed), 2);
}

TEST_F(SealedChannelTest, RefusesMessagesOutOfOrder) {
  sealer.Seal(AsBytes("one"));
  ExpectNotAuthentic(opener.Open(sealer.Seal(AsBytes("two"))), 1);
}

TEST_F(SealedChannelTest, RefusesWhatTheOtherDirectionSealed) {
  Sealer other(KeyOf(2));
  ExpectNotAuthentic(opener.Open(other.Seal(AsBytes("text"))), 1);
}

TEST_F(SealedChannelTest, RefusesEveryFlippedBitAndEveryTruncation) {
  const Bytes sealed = sealer.Seal(AsBytes("text"));
  for (size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    Opener fresh(KeyOf(1), "gpu02");
    Bytes flipped = sealed;
    flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ (1U << (bit % 8)));
    ExpectNotAuthentic(fresh.Open(flipped), 1);
  }
  for (size_t length = 0; length < sealed.size(); ++length) {
    Opener fresh(KeyOf(1), "gpu02");
    ExpectNotAuthentic(fresh.Open(ByteView(sealed).first(length)), 1);
  }
}

TEST_F(SealedChannelTest, StaysShutAfterAFailure) {
  const Bytes sealed = sealer.Seal(AsBytes("text"));
  ExpectNotAuthentic(opener.Open(AsBytes("garbage")), 1);
  ExpectNotAuthentic(opener.Open(sealed), 1);
}

}  // namespace
}  // namespace muster::auth
