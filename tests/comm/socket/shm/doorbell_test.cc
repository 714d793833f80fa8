#include "comm/socket/shm/doorbell.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "tests/comm/net/other_user.h"
#include "tests/comm/net/test_base.h"

namespace muster::socket {
namespace {

class DoorbellTest : public testing::Test {
 protected:
  DoorbellTest() : directory(*net::PrivateDirectory::MakeIn(base.path)) {}

  static bool Rung(const Doorbell& doorbell) {
    pollfd polled{doorbell.fd(), POLLIN, 0};
    return poll(&polled, 1, 0) == 1;
  }
  net::SocketAddress AddressOf(const Doorbell& doorbell) const {
    return *directory.AddressOf(doorbell.name());
  }

  net::TestBase base;
  net::PrivateDirectory directory;
};

TEST_F(DoorbellTest, RingsUntilDrained) {
  {
    const auto mine = Doorbell::Open(directory);
    const auto theirs = Doorbell::Open(directory);
    ASSERT_TRUE(mine && theirs);
    EXPECT_NE(mine->name(), theirs->name());
    EXPECT_FALSE(Rung(*theirs));
    EXPECT_EQ(mine->Ring(AddressOf(*theirs)), Delivery::kDone);
    EXPECT_EQ(mine->Ring(AddressOf(*theirs)), Delivery::kDone);
    EXPECT_TRUE(Rung(*theirs));
    EXPECT_FALSE(Rung(*mine));
    theirs->Drain();
    EXPECT_FALSE(Rung(*theirs));
  }
  EXPECT_TRUE(std::filesystem::is_empty(base.path));
}

TEST_F(DoorbellTest, OfNobodyIsNoReasonToTryAgain) {
  const auto mine = Doorbell::Open(directory);
  ASSERT_TRUE(mine);
  net::SocketAddress gone;
  {
    const auto theirs = Doorbell::Open(directory);
    ASSERT_TRUE(theirs);
    gone = AddressOf(*theirs);
  }
  EXPECT_EQ(mine->Ring(gone), Delivery::kNoSocket);
  EXPECT_EQ(mine->Ring(*directory.AddressOf("never-there")), Delivery::kNoSocket);
}

TEST_F(DoorbellTest, SaysWhenThereIsNoRoom) {
  const auto mine = Doorbell::Open(directory);
  const auto theirs = Doorbell::Open(directory);
  ASSERT_TRUE(mine && theirs);
  int rings = 0;
  while (rings < 1'000'000 && mine->Ring(AddressOf(*theirs)) == Delivery::kDone) ++rings;
  EXPECT_LT(rings, 1'000'000);
  for (int i = 0; i <= rings / Doorbell::kDrainedPerWake; ++i) theirs->Drain();
  EXPECT_FALSE(Rung(*theirs));
  EXPECT_EQ(mine->Ring(AddressOf(*theirs)), Delivery::kDone);
}

// How many rings wait at most is a setting of the network namespace, mostly less than a drain takes.
TEST_F(DoorbellTest, AFloodIsDrainedInParts) {
  constexpr int kRings = 3 * Doorbell::kDrainedPerWake;
  if (getuid() != 0) GTEST_SKIP() << "needs root: for a network namespace";
  const auto drained_in_parts = [&] {
    if (unshare(CLONE_NEWNET) != 0) return false;
    std::ofstream("/proc/sys/net/unix/max_dgram_qlen") << kRings << std::flush;
    const auto mine = Doorbell::Open(directory);
    const auto theirs = Doorbell::Open(directory);
    if (!mine || !theirs) return false;
    int rings = 0;
    while (rings < kRings && mine->Ring(AddressOf(*theirs)) == Delivery::kDone) ++rings;
    int drains = 0;
    for (; Rung(*theirs); ++drains) theirs->Drain();
    return rings == kRings && drains == 3;
  };
  const pid_t child = fork();
  if (child == 0) _exit(drained_in_parts() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(DoorbellTest, IsOutOfReachOfOtherUsers) {
  if (getuid() != 0) GTEST_SKIP() << "needs root: to be another user";
  const auto mine = Doorbell::Open(directory);
  ASSERT_TRUE(mine);
  const net::SocketAddress address = AddressOf(*mine);
  const net::OtherProcess stranger(
      [&] {
        const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        return sendto(fd.get(), "", 1, 0, address.get(), address.length()) < 0 && errno == EACCES;
      },
      net::OtherProcess::kNoOwner);
  EXPECT_TRUE(stranger.acted());
  EXPECT_FALSE(Rung(*mine));
}

}  // namespace
}  // namespace muster::socket
