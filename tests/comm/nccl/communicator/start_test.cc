// NCCL's start never hangs, and names the ranks that did not get through.
#include "comm/nccl/communicator/start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/comm/nccl/nccl_world.h"

namespace muster::nccl {
namespace {

using testing::Each;

NcclSettings Impatient() {
  NcclSettings settings = TestSettings();
  settings.timeouts.init = std::chrono::seconds(2);
  return settings;
}

// The result of the start on each rank.
std::vector<std::string> Start(const std::vector<int>& layout, const NcclSettings& settings,
                               const std::function<void(FakeFabric&)>& prepare) {
  NcclWorld world(layout, NcclWorld::Through::kNothing, settings, prepare);
  std::vector<std::string> started = world.started();
  for (int rank = 0; rank < world.size(); ++rank) world.Leave(rank);
  EXPECT_THAT(world.ended(), Each(""));
  // Everything that was begun is aborted or destroyed; what was left behind does that when it comes back.
  std::unique_lock lock(world.fabric().mutex);
  world.fabric().changed.wait(lock, [&] { return world.fabric().living == 0; });
  return started;
}

TEST(NcclStart, GivesEveryRankACommunicator) {
  EXPECT_THAT(Start(socket::BlockLayout({2, 2}), TestSettings(), {}), Each(""));
}

TEST(NcclStart, ThatFailsOnOneRankFailsOnAllWithItsWords) {
  EXPECT_THAT(Start(socket::BlockLayout({2, 1}), TestSettings(),
                    [](FakeFabric& fabric) { fabric.fails_at_start[2] = "Cuda failure 'out of memory'"; }),
              Each("rank 2 on gpu02 could not start NCCL on GPU-1: unhandled cuda error: Cuda failure 'out "
                   "of memory'"));
}

TEST(NcclStart, ThatHangsEverywhereEndsAtTheDeadline) {
  EXPECT_THAT(
      Start(socket::BlockLayout({2, 1}), Impatient(), [](FakeFabric& fabric) { fabric.never_joins = {1}; }),
      Each("NCCL did not start within 2s on 3 of 3 ranks: ranks 0-2 (the first: rank 0 on gpu01) waited in "
           "it; no rank was through"));
}

TEST(NcclStart, ThatHangsOnSomeRanksNamesThem) {
  EXPECT_THAT(
      Start(socket::BlockLayout({2, 2}), Impatient(),
            [](FakeFabric& fabric) {
              fabric.never_through = {1, 3};
            }),
      Each("NCCL did not start within 2s on 2 of 4 ranks: ranks 1,3 (the first: rank 1 on gpu01) waited "
           "in it; the other ranks were through"));
}

// A rank that dies in NCCL's start breaks the connections of others before the group has that failure.
TEST(NcclStart, ThatLosesAPeerNamesThePeer) {
  NcclSettings settings = TestSettings();
  settings.cause_grace = std::chrono::minutes(1);
  EXPECT_THAT(Start(socket::BlockLayout({2, 1}), settings,
                    [](FakeFabric& fabric) {
                      fabric.loses_a_peer_at_start = {0};
                      fabric.fails_at_start[2] = "Cuda failure 719";
                    }),
              Each("rank 2 on gpu02 could not start NCCL on GPU-1: unhandled cuda error: Cuda failure 719"));
}

// Long before the deadline.
TEST(NcclStart, ThatDoesNotComeBackIsLeftWhenTheGroupFails) {
  EXPECT_THAT(Start(socket::BlockLayout({2}), TestSettings(),
                    [](FakeFabric& fabric) {
                      fabric.blocks_in_start = {1};
                      fabric.fails_at_start[0] = "Cuda failure 719";
                    }),
              Each("rank 0 on gpu01 could not start NCCL on GPU-1: unhandled cuda error: Cuda failure 719"));
}

// The static objects of NCCL end with the process: after that a call that is still under way would crash.
TEST(NcclStartDeathTest, ThatDoesNotComeBackIsOverWhenTheProcessExits) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end = [] {
    const NcclWorld world(socket::BlockLayout({2}), NcclWorld::Through::kNothing, TestSettings(),
                          [](FakeFabric& fabric) {
                            fabric.blocks_in_start = {1};
                            fabric.fails_at_start[0] = "Cuda failure 719";
                            std::atexit([] { _exit(1); });
                          });
    std::exit(71);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(71), "");
}

TEST(NcclStart, ThatComesBackTooLateIsAborted) {
  NcclWorld world(socket::BlockLayout({2}), NcclWorld::Through::kNothing, Impatient(),
                  [](FakeFabric& fabric) { fabric.blocks_in_start = {1}; });
  EXPECT_THAT(world.started(), Each(testing::StartsWith("NCCL did not start within 2s")));
  world.fabric().Release();
  std::unique_lock lock(world.fabric().mutex);
  // Rank 0's, then the one that rank 1 has made meanwhile.
  world.fabric().changed.wait(lock, [&] { return world.fabric().aborted_together.size() == 2; });
  EXPECT_EQ(world.fabric().living, 0);
}

TEST(NcclStart, ThatDoesNotComeBackIsLeftBehindAndNamed) {
  EXPECT_THAT(
      Start(socket::BlockLayout({2, 1}), Impatient(),
            [](FakeFabric& fabric) { fabric.blocks_in_start = {1}; }),
      Each("NCCL did not start within 2s on 3 of 3 ranks: rank 1 on gpu01 had entered it and not returned; "
           "ranks 0,2 (the first: rank 0 on gpu01) waited in it; no rank was through"));
}

}  // namespace
}  // namespace muster::nccl
