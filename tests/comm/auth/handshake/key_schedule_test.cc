#include "comm/auth/handshake/key_schedule.h"

#include <gtest/gtest.h>

namespace muster::auth {
namespace {

SecretKey KeyOf(uint8_t number) { return DeriveKey({}, {ByteView(&number, 1)}); }

bool Fits(SealedChannel from, SealedChannel to) {
  return to.opener.Open(from.sealer.Seal(AsBytes("x"))).has_value();
}

TEST(KeySchedule, EachPhaseAndDirectionHasAKeyOfItsOwn) {
  const KeySchedule keys(KeyOf(1), KeyOf(2).view(), TranscriptHash(AsBytes("h"), AsBytes("a")));
  EXPECT_TRUE(Fits(keys.TrafficChannel(Role::kClient, "s"), keys.TrafficChannel(Role::kServer, "c")));
  EXPECT_TRUE(Fits(keys.TrafficChannel(Role::kServer, "c"), keys.TrafficChannel(Role::kClient, "s")));
  EXPECT_TRUE(Fits(keys.HandshakeChannel(Role::kClient, "s"), keys.HandshakeChannel(Role::kServer, "c")));
  EXPECT_FALSE(Fits(keys.TrafficChannel(Role::kClient, "s"), keys.TrafficChannel(Role::kClient, "s")));
  EXPECT_FALSE(Fits(keys.HandshakeChannel(Role::kClient, "s"), keys.TrafficChannel(Role::kServer, "c")));
}

TEST(KeySchedule, EveryInputCounts) {
  const Digest transcript = TranscriptHash(AsBytes("h"), AsBytes("a"));
  const KeySchedule keys(KeyOf(1), KeyOf(2).view(), transcript);
  const auto fits = [&keys](const KeySchedule& other) {
    return Fits(keys.TrafficChannel(Role::kClient, "s"), other.TrafficChannel(Role::kServer, "c"));
  };
  EXPECT_TRUE(fits(KeySchedule(KeyOf(1), KeyOf(2).view(), transcript)));
  EXPECT_FALSE(fits(KeySchedule(KeyOf(3), KeyOf(2).view(), transcript)));
  EXPECT_FALSE(fits(KeySchedule(KeyOf(1), KeyOf(3).view(), transcript)));
  EXPECT_FALSE(fits(KeySchedule(KeyOf(1), {}, transcript)));
  EXPECT_FALSE(fits(KeySchedule(KeyOf(1), KeyOf(2).view(), TranscriptHash(AsBytes("ha"), AsBytes("")))));
}

}  // namespace
}  // namespace muster::auth
