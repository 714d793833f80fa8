#include "comm/auth/handshake/ephemeral_key.h"

#include <gtest/gtest.h>

namespace muster::auth {
namespace {

TEST(EphemeralKey, IsTheSameUntilItIsWiped) {
  ASSERT_TRUE(CryptoReady());
  EphemeralKey key;
  const PublicKey first = key.Get().public_key;
  EXPECT_EQ(key.Get().public_key, first);
  key.Wipe();
  EXPECT_NE(key.Get().public_key, first);
}

TEST(EphemeralKey, FitsItsSecret) {
  ASSERT_TRUE(CryptoReady());
  EphemeralKey one;
  EphemeralKey other;
  const auto here = AgreeOnKey(one.Get().secret, other.Get().public_key);
  const auto there = AgreeOnKey(other.Get().secret, one.Get().public_key);
  ASSERT_TRUE(here && there);
  EXPECT_TRUE(EqualInConstantTime(here->view(), there->view()));
}

}  // namespace
}  // namespace muster::auth
