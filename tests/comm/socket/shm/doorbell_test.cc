#include "comm/socket/shm/doorbell.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>

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
    EXPECT_TRUE(mine->Ring(AddressOf(*theirs)));
    EXPECT_TRUE(mine->Ring(AddressOf(*theirs)));
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
  EXPECT_TRUE(mine->Ring(gone));
  EXPECT_TRUE(mine->Ring(*directory.AddressOf("never-there")));
}

TEST_F(DoorbellTest, SaysWhenThereIsNoRoom) {
  const auto mine = Doorbell::Open(directory);
  const auto theirs = Doorbell::Open(directory);
  ASSERT_TRUE(mine && theirs);
  int rings = 0;
  while (rings < 1'000'000 && mine->Ring(AddressOf(*theirs))) ++rings;
  EXPECT_LT(rings, 1'000'000);
  for (int i = 0; i <= rings / Doorbell::kDrainedPerWake; ++i) theirs->Drain();
  EXPECT_FALSE(Rung(*theirs));
  EXPECT_TRUE(mine->Ring(AddressOf(*theirs)));
}

// Each wake ends, whatever keeps ringing meanwhile.
TEST_F(DoorbellTest, AFloodDoesNotKeepItDraining) {
  const auto mine = Doorbell::Open(directory);
  ASSERT_TRUE(mine);
  const net::SocketAddress address = AddressOf(*mine);
  const net::OtherProcess flood([&] {
    if (fork() != 0) return true;
    const auto theirs = Doorbell::Open(directory);
    const pid_t parent = getppid();
    while (theirs && getppid() == parent) theirs->Ring(address);
    _exit(0);
  });
  ASSERT_TRUE(flood.acted());
  for (int i = 0; i < 1000; ++i) mine->Drain();
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
      net::OtherProcess::kNobody);
  EXPECT_TRUE(stranger.acted());
  EXPECT_FALSE(Rung(*mine));
}

}  // namespace
}  // namespace muster::socket
