#include "comm/rendezvous/link/port_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;

std::vector<size_t> Take(PortSweep& sweep, size_t count, size_t total) {
  std::vector<size_t> taken;
  for (size_t i = 0; i < count; ++i) taken.push_back(sweep.Next(total).value_or(99999));
  return taken;
}

TEST(PortSweep, TriesEarlierPortsMoreOften) {
  PortSweep sweep;
  const auto taken = Take(sweep, 64 + 128 + 200 + 64, 200);
  EXPECT_EQ(std::ranges::count(taken, size_t{0}), 4);
  EXPECT_EQ(std::ranges::count(taken, size_t{63}), 4);
  EXPECT_EQ(std::ranges::count(taken, size_t{64}), 2);
  EXPECT_EQ(std::ranges::count(taken, size_t{199}), 1);
  EXPECT_EQ(std::ranges::max(taken), 199u);
}

TEST(PortSweep, LeavesStrangersOutOnce) {
  PortSweep sweep;
  EXPECT_THAT(Take(sweep, 3, 3), ElementsAre(0, 1, 2));
  sweep.SetStranger(0);
  sweep.SetStranger(2);
  EXPECT_THAT(Take(sweep, 1, 3), ElementsAre(1));
  EXPECT_THAT(Take(sweep, 3, 3), ElementsAre(0, 1, 2));
  for (size_t i = 0; i < 3; ++i) sweep.SetStranger(i);
  EXPECT_THAT(Take(sweep, 3, 3), ElementsAre(0, 1, 2)) << "there is nothing else to try";
}

TEST(PortSweep, GrowsMorePatient) {
  PortSweep sweep;
  Take(sweep, 64 + 128, 128);
  const Duration first = sweep.patience();
  EXPECT_GT(first, Duration::zero());
  Take(sweep, 1, 128);
  EXPECT_EQ(sweep.patience(), 2 * first);
}

TEST(PortSweep, MayHaveNothingToTryAndMoreLater) {
  PortSweep sweep;
  EXPECT_FALSE(sweep.Next(0));
  EXPECT_EQ(sweep.Next(2), 0u);
  EXPECT_EQ(sweep.Next(2), 1u);
  EXPECT_EQ(sweep.Next(300), 0u);
}

TEST(PortSweep, ManyLeadersTryLessOften) {
  for (const bool strangers : {false, true}) {
    const auto tries_a_second = [strangers](size_t leaders) {
      return static_cast<double>(leaders) * std::chrono::duration<double>(std::chrono::seconds(1)).count() /
             std::chrono::duration<double>(PortSweep::Apart(leaders, strangers)).count();
    };
    EXPECT_LT(tries_a_second(2048), 10000);
    EXPECT_LT(PortSweep::Apart(1, strangers), std::chrono::milliseconds(200));
  }
  EXPECT_LT(PortSweep::Apart(2, true), PortSweep::Apart(2, false));
}

}  // namespace
}  // namespace muster::rendezvous
