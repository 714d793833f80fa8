#include "comm/socket/shm/doorbell.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace muster {
namespace {

bool Rung(const Doorbell& doorbell) {
  pollfd polled{doorbell.fd(), POLLIN, 0};
  return poll(&polled, 1, 0) == 1;
}

TEST(Doorbell, RingsUntilDrained) {
  const auto mine = Doorbell::Open();
  const auto theirs = Doorbell::Open();
  ASSERT_TRUE(mine && theirs);
  EXPECT_NE(mine->name(), theirs->name());
  EXPECT_FALSE(Rung(*theirs));
  EXPECT_TRUE(mine->Ring(theirs->name()));
  EXPECT_TRUE(mine->Ring(theirs->name()));
  EXPECT_TRUE(Rung(*theirs));
  EXPECT_FALSE(Rung(*mine));
  theirs->Drain();
  EXPECT_FALSE(Rung(*theirs));
}

TEST(Doorbell, OfNobodyIsNoReasonToTryAgain) {
  const auto mine = Doorbell::Open();
  ASSERT_TRUE(mine);
  std::string gone;
  {
    const auto theirs = Doorbell::Open();
    ASSERT_TRUE(theirs);
    gone = theirs->name();
  }
  EXPECT_TRUE(mine->Ring(gone));
  EXPECT_TRUE(mine->Ring(std::string(200, 'x')));
  EXPECT_TRUE(mine->Ring(""));
}

TEST(Doorbell, SaysWhenThereIsNoRoom) {
  const auto mine = Doorbell::Open();
  const auto theirs = Doorbell::Open();
  ASSERT_TRUE(mine && theirs);
  int rings = 0;
  while (rings < 1'000'000 && mine->Ring(theirs->name())) ++rings;
  EXPECT_LT(rings, 1'000'000);
  theirs->Drain();
  EXPECT_TRUE(mine->Ring(theirs->name()));
}

}  // namespace
}  // namespace muster
