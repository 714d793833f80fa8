// The errors of libmunge, in our words; the library is a fake. munge_daemon_test.cc asks the real one.
#include "comm/auth/munge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/auth/fake_munge.h"

namespace muster::auth {
namespace {

constexpr const char* kClockHint = "set the clocks of the nodes (chrony, ntpd)";

class MungeTest : public testing::Test {
 protected:
  MungeTest() : fake(TheFakeMunge()), munge(FakeMungeApi(), "/run/m") { fake = FakeMunge(); }
  ~MungeTest() override { EXPECT_EQ(fake.live_contexts, 0); }

  void ExpectDecodeError(munge_err_t error, std::string_view message, std::string_view hint) {
    fake.error = error;
    fake.payload = "kept";
    const Result<MungeCredential> decoded = munge.Decode(AsBytes("MUNGE:x:"));
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, Code::kAuthentication);
    EXPECT_EQ(decoded.error().message, message);
    EXPECT_EQ(decoded.error().hint, hint);
  }

  FakeMunge& fake;
  Munge munge;
};

TEST_F(MungeTest, EncodesShortLivedForOneUserAtTheSocket) {
  const Result<Bytes> credential = munge.Encode(AsBytes("payload"), 1234);
  ASSERT_TRUE(credential);
  EXPECT_EQ(AsText(*credential), "MUNGE:fake:");
  EXPECT_EQ(fake.socket, "/run/m");
  EXPECT_EQ(fake.ttl, 60);
  EXPECT_EQ(fake.only_for, 1234U);
  EXPECT_EQ(fake.payload, "payload");
}

TEST_F(MungeTest, DecodesWhatTheCredentialSays) {
  fake.payload = std::string("a\0b", 3);
  fake.uid = 7;
  fake.gid = 8;
  fake.only_for = 9;
  const Result<MungeCredential> decoded = munge.Decode(AsBytes("MUNGE:x:"));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(AsText(decoded->payload), std::string_view("a\0b", 3));
  EXPECT_EQ(decoded->uid, 7U);
  EXPECT_EQ(decoded->gid, 8U);
  EXPECT_EQ(decoded->only_for, 9U);
  EXPECT_EQ(fake.decoded_text, "MUNGE:x:");
}

TEST_F(MungeTest, ReadableByAllIsNoRestriction) {
  const Result<MungeCredential> decoded = munge.Decode(AsBytes("MUNGE:x:"));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->only_for, std::nullopt);
  EXPECT_TRUE(decoded->payload.empty());
}

TEST_F(MungeTest, SaysByHowMuchTheClocksDiffer) {
  fake.encode_time = 1000;
  fake.decode_time = 1412;
  ExpectDecodeError(EMUNGE_CRED_EXPIRED,
                    "its munge credential has expired: the clock of this node is 412 s ahead of the peer's",
                    kClockHint);
  fake.decode_time = 700;
  ExpectDecodeError(
      EMUNGE_CRED_REWOUND,
      "its munge credential is from the future: the clock of this node is 300 s behind the peer's",
      kClockHint);
  fake.decode_time = 0;
  ExpectDecodeError(EMUNGE_CRED_REWOUND,
                    "its munge credential is from the future: the clocks of the two nodes differ",
                    kClockHint);
}

TEST_F(MungeTest, NamesWhatIsWrongWithACredential) {
  ExpectDecodeError(EMUNGE_CRED_REPLAYED, "its munge credential has been used before on this node", "");
  ExpectDecodeError(EMUNGE_CRED_UNAUTHORIZED, "its munge credential is for another user to read",
                    "start all ranks as one user; in a container, without mapping it to another uid");
  ExpectDecodeError(EMUNGE_CRED_INVALID,
                    "its munge credential is forged or from a node with another munge key",
                    "munge.key must be the same on every node: compare md5sum /etc/munge/munge.key");
  ExpectDecodeError(EMUNGE_BAD_CRED, "munged rejects its credential: text of the code", "");
  fake.context_text = "text of the context";
  ExpectDecodeError(EMUNGE_BAD_CRED, "munged rejects its credential: text of the context", "");
}

TEST_F(MungeTest, NamesTheSocketOfADeadDaemon) {
  const char* hint = "start munged on this node, or set rendezvous.auth: secret on every rank";
  fake.context_text = "Failed to connect";
  ExpectDecodeError(EMUNGE_SOCKET, "munged does not answer at /run/m: Failed to connect", hint);
  const Result<Bytes> credential = munge.Encode(AsBytes("x"), 1);
  ASSERT_FALSE(credential);
  EXPECT_EQ(credential.error().code, Code::kAuthentication);
  EXPECT_EQ(credential.error().message, "munged does not answer at /run/m: Failed to connect");
  EXPECT_EQ(credential.error().hint, hint);
}

TEST_F(MungeTest, OtherFailuresOfEncodeCarryTheirText) {
  fake.error = EMUNGE_SNAFU;
  const Result<Bytes> credential = munge.Encode(AsBytes("x"), 1);
  ASSERT_FALSE(credential);
  EXPECT_EQ(credential.error().message, "munged cannot make a credential: text of the code");
}

TEST_F(MungeTest, OutOfMemoryIsAnError) {
  fake.out_of_memory = true;
  const Result<Bytes> credential = munge.Encode(AsBytes("x"), 1);
  ASSERT_FALSE(credential);
  EXPECT_EQ(credential.error().message, "libmunge cannot make a context: out of memory");
  const Result<MungeCredential> decoded = munge.Decode(AsBytes("x"));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message, "libmunge cannot make a context: out of memory");
}

TEST_F(MungeTest, WhatIsNoCStringDoesNotReachTheLibrary) {
  for (const std::string_view bad :
       {std::string_view(), std::string_view("a\0b", 3), std::string_view("\0", 1)}) {
    const Result<MungeCredential> decoded = munge.Decode(AsBytes(bad));
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().message, "its munge credential is malformed");
  }
  EXPECT_EQ(fake.decoded_text, "");
}

TEST(LoadMunge, NamesAMissingOrWrongLibrary) {
  const char* hint = "install libmunge2 on this node, or set rendezvous.auth: secret on every rank";
  const Result<MungeApi> missing = LoadMunge("libmuster-no-such.so.1");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kAuthentication);
  EXPECT_EQ(missing.error().message,
            "cannot load libmuster-no-such.so.1: libmuster-no-such.so.1: cannot open shared object file: No "
            "such file or directory");
  EXPECT_EQ(missing.error().hint, hint);
  const Result<MungeApi> wrong = LoadMunge("libc.so.6");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "libc.so.6 lacks functions of libmunge");
  EXPECT_EQ(wrong.error().hint, hint);
}

}  // namespace
}  // namespace muster::auth
