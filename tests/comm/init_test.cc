#include "comm/init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/comm/socket/fake_group.h"

namespace muster {
namespace {

using testing::Each;

Deadline Soon() { return Deadline::After(std::chrono::minutes(2)); }

// What every rank of a group on one node gets; `gpu_files[r]`: whether rank r seems to have a GPU. No CUDA
// can be loaded.
std::vector<std::string> BuildAll(const std::vector<bool>& gpu_files, Backend backend) {
  const int ranks = static_cast<int>(gpu_files.size());
  FakeGroupState state(MakeRoster(BlockLayout({ranks})));
  std::vector<std::string> results(gpu_files.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      FakeGroup group(state, rank);
      DataOptions options;
      options.backend = backend;
      options.gpu.has_device = [has = gpu_files[static_cast<size_t>(rank)]] { return has; };
      options.gpu.load_cuda = []() -> Result<std::unique_ptr<CudaApi>> {
        return Fail(Code::kConfiguration, "cannot load it");
      };
      options.route_nccl_log = false;
      auto endpoint = SocketEndpoint::Open();
      ASSERT_TRUE(endpoint);
      auto plane = BuildCommunicator(group, *std::move(endpoint), options, Soon());
      std::string& result = results[static_cast<size_t>(rank)];
      if (!plane) {
        result = plane.error().message;
        return;
      }
      result = fmt::format("{}, {} hellos", plane->communicator->backend(), plane->gpus.size());
      EXPECT_EQ(MessageOf(plane->communicator->Barrier()), "");
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(BuildCommunicator, AsksNobodyWhereNobodyHasAGpu) {
  EXPECT_THAT(BuildAll({false, false, false}, Backend::kAuto), Each("socket, 0 hellos"));
}

TEST(BuildCommunicator, AsksEverybodyWhereSomebodyMayHaveOne) {
  EXPECT_THAT(BuildAll({false, true, false}, Backend::kAuto), Each("socket, 3 hellos"));
}

TEST(BuildCommunicator, LooksAtNoGpuForSockets) {
  EXPECT_THAT(BuildAll({true, true}, Backend::kSocket), Each("socket, 0 hellos"));
}

TEST(BuildCommunicator, RefusesNcclWithoutAGpu) {
  EXPECT_THAT(BuildAll({true, false}, Backend::kNccl),
              Each("backend: nccl needs a GPU for every rank; rank 0 on gpu01: cannot load it"));
}

TEST(BuildCommunicatorFromRoster, NamesWhoBroughtSomethingElse) {
  Roster roster = MakeRoster(BlockLayout({2}));
  auto endpoint = SocketEndpoint::Open();
  ASSERT_TRUE(endpoint);
  roster.members[0].payload = DataPayload(**endpoint, {});
  roster.members[1].payload = {1, 2, 3};
  FakeGroupState state(roster);
  FakeGroup group(state, 0);
  const auto plane = BuildCommunicatorFromRoster(group, *std::move(endpoint), {}, Soon());
  ASSERT_FALSE(plane);
  EXPECT_EQ(plane.error().code, Code::kDisagreement);
  EXPECT_EQ(plane.error().message, "rank 1 on gpu01 sent a malformed data endpoint: it ends too early");
}

TEST(BuildCommunicatorOfOne, OpensNothing) {
  FakeGroupState state(MakeRoster({0}));
  FakeGroup group(state, 0);
  const auto plane = BuildCommunicatorOfOne(group, {}, Soon());
  ASSERT_TRUE(plane);
  EXPECT_EQ(plane->communicator->size(), 1);
  EXPECT_EQ(plane->communicator->backend(), "socket");
}

}  // namespace
}  // namespace muster
