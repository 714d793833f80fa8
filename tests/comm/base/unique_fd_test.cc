#include "comm/base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }
UniqueFd Open() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(UniqueFd, ClosesWhatItOwns) {
  int number = -1;
  {
    const UniqueFd fd = Open();
    number = fd.get();
    EXPECT_TRUE(fd);
    EXPECT_TRUE(IsOpen(number));
  }
  EXPECT_FALSE(IsOpen(number));
}

TEST(UniqueFd, MovingHandsOver) {
  UniqueFd first = Open();
  const int number = first.get();
  UniqueFd second = std::move(first);
  EXPECT_EQ(second.get(), number);
  UniqueFd third = Open();
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_EQ(third.get(), number);
  EXPECT_FALSE(IsOpen(replaced));
  EXPECT_TRUE(IsOpen(number));
}

TEST(UniqueFd, ReleaseGivesItAway) {
  UniqueFd fd = Open();
  const int number = fd.Release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(IsOpen(number));
  UniqueFd(number).Reset();
  EXPECT_FALSE(IsOpen(number));
}

TEST(UniqueFd, EmptyOwnsNothing) {
  UniqueFd fd;
  EXPECT_FALSE(fd);
  EXPECT_EQ(fd.get(), -1);
  fd.Reset();
  EXPECT_FALSE(fd);
}

}  // namespace
}  // namespace muster
