#include "comm/auth/crypto.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

namespace muster::auth {
namespace {

std::string Hex(ByteView bytes) { return fmt::format("{:02x}", fmt::join(bytes, "")); }

Bytes FromHex(std::string_view text) {
  Bytes bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

SecretKey KeyOf(ByteView bytes) {
  SecretKey key;
  std::copy(bytes.begin(), bytes.end(), key.mutable_view().begin());
  return key;
}

PublicKey PublicOf(ByteView bytes) {
  PublicKey key{};
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

class CryptoTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(CryptoReady()); }
};

TEST_F(CryptoTest, IsReadyFromAnyThreadAndTwice) {
  std::vector<std::thread> threads;
  std::array<bool, 4> ready{};
  threads.reserve(ready.size());
  for (bool& one : ready) threads.emplace_back([&one] { one = CryptoReady().has_value(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ready, testing::Each(true));
}

TEST_F(CryptoTest, RandomBytesDiffer) {
  SecretKey a;
  SecretKey b;
  RandomBytes(a.mutable_view());
  RandomBytes(b.mutable_view());
  EXPECT_FALSE(EqualInConstantTime(a.view(), b.view()));
  EXPECT_FALSE(EqualInConstantTime(a.view(), SecretKey().view()));
}

TEST_F(CryptoTest, WipesMemory) {
  Bytes memory{1, 2, 3};
  WipeMemory(memory);
  EXPECT_EQ(memory, (Bytes{0, 0, 0}));
}

// RFC 7748, section 5.2, first vector.
TEST_F(CryptoTest, AgreesAsOthersDo) {
  const auto agreed =
      AgreeOnKey(KeyOf(FromHex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")),
                 PublicOf(FromHex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")));
  ASSERT_TRUE(agreed);
  EXPECT_EQ(Hex(agreed->view()), "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
}

TEST_F(CryptoTest, BothEndsAgree) {
  const KeyPair alice = MakeKeyPair();
  const KeyPair bob = MakeKeyPair();
  const auto a = AgreeOnKey(alice.secret, bob.public_key);
  const auto b = AgreeOnKey(bob.secret, alice.public_key);
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(EqualInConstantTime(a->view(), b->view()));
}

TEST_F(CryptoTest, RefusesPointsOfLowOrder) {
  const KeyPair alice = MakeKeyPair();
  EXPECT_FALSE(AgreeOnKey(alice.secret, PublicKey{}));
  EXPECT_FALSE(AgreeOnKey(alice.secret, PublicOf(FromHex("01"))));
  EXPECT_FALSE(AgreeOnKey(
      alice.secret, PublicOf(FromHex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"))));
}

// hashlib.blake2b(digest_size=32, key=b"key"), fed each part behind its length as a little-endian u64.
TEST_F(CryptoTest, HashesAsOthersDo) {
  EXPECT_EQ(Hex(Blake2b(AsBytes("key"), {AsBytes("muster test"), AsBytes("abc")})),
            "1cd0a4fb54e2220f438bac6f47faf33d38bf665f67fab4351e1bad8607d9d7aa");
  EXPECT_EQ(Hex(DeriveKey(AsBytes("key"), {AsBytes("muster test"), AsBytes("abc")}).view()),
            "1cd0a4fb54e2220f438bac6f47faf33d38bf665f67fab4351e1bad8607d9d7aa");
}

TEST_F(CryptoTest, PartsOfAHashDoNotRunTogether) {
  EXPECT_NE(Blake2b({}, {AsBytes("ab"), AsBytes("c")}), Blake2b({}, {AsBytes("a"), AsBytes("bc")}));
  EXPECT_NE(Blake2b({}, {AsBytes("ab")}), Blake2b({}, {AsBytes("ab"), AsBytes("")}));
  EXPECT_NE(Blake2b(AsBytes("k"), {AsBytes("ab")}), Blake2b({}, {AsBytes("ab")}));
}

TEST_F(CryptoTest, OpensOnlyWhatWasSealed) {
  const SecretKey key = MakeKeyPair().secret;
  const Bytes sealed = AeadSeal(key, 5, AsBytes("text"));
  ASSERT_EQ(sealed.size(), 20U);
  const auto opened = AeadOpen(key, 5, sealed);
  ASSERT_TRUE(opened);
  EXPECT_EQ(AsText(*opened), "text");
  EXPECT_FALSE(AeadOpen(key, 6, sealed));
  EXPECT_FALSE(AeadOpen(key, 5 + (1ULL << 32), sealed));
  EXPECT_FALSE(AeadOpen(MakeKeyPair().secret, 5, sealed));
  EXPECT_FALSE(AeadOpen(key, 5, {}));
  EXPECT_FALSE(AeadOpen(key, 5, ByteView(sealed).first(15)));
}

TEST_F(CryptoTest, SealsNothingToo) {
  const SecretKey key = MakeKeyPair().secret;
  const auto opened = AeadOpen(key, 0, AeadSeal(key, 0, {}));
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->empty());
}

TEST_F(CryptoTest, ComparesLengthsToo) {
  EXPECT_TRUE(EqualInConstantTime({}, {}));
  EXPECT_TRUE(EqualInConstantTime(AsBytes("ab"), AsBytes("ab")));
  EXPECT_FALSE(EqualInConstantTime(AsBytes("ab"), AsBytes("abc")));
  EXPECT_FALSE(EqualInConstantTime(AsBytes("ab"), AsBytes("ac")));
}

}  // namespace
}  // namespace muster::auth
