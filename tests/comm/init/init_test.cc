#include "comm/init/init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <tuple>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/nccl/computing_cuda.h"
#include "tests/comm/nccl/computing_nccl.h"
#include "tests/comm/socket/fake_group.h"

namespace muster {
namespace {

using testing::Each;

Deadline Soon() { return Deadline::After(std::chrono::minutes(2)); }

// The result of every rank of a group on one node; `gpu_files[r]`: whether rank r seems to have a GPU. No
// CUDA can be loaded.
std::vector<std::string> BuildAll(const std::vector<bool>& gpu_files, Backend backend,
                                  const std::set<int>& host_only = {}) {
  const int ranks = static_cast<int>(gpu_files.size());
  socket::FakeGroupState state(socket::MakeRoster(socket::BlockLayout({ranks})));
  std::vector<std::string> results(gpu_files.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      socket::FakeGroup group(state, rank);
      DataOptions options;
      options.backend = backend;
      options.host_only = host_only.contains(rank);
      options.gpu.has_device = [has = gpu_files[static_cast<size_t>(rank)]] { return has; };
      options.gpu.load_cuda = []() -> Result<std::unique_ptr<nccl::CudaApi>> {
        return Fail(Code::kConfiguration, "cannot load it");
      };
      options.route_nccl_log = false;
      auto endpoint = socket::SocketEndpoint::Open();
      ASSERT_TRUE(endpoint);
      auto plane = BuildCommunicator(group, *std::move(endpoint), options, Soon());
      std::string& result = results[static_cast<size_t>(rank)];
      if (!plane) {
        result = plane.error().message;
        return;
      }
      result = fmt::format("{}, {} hellos", plane->communicator->backend(), plane->gpus.size());
      EXPECT_EQ(socket::MessageOf(plane->communicator->Barrier()), "");
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

// import muster and the C interface.
TEST(BuildCommunicator, LooksAtNoGpuForHostMemoryAlone) {
  EXPECT_THAT(BuildAll({true, true}, Backend::kAuto, {0, 1}), Each("socket, 0 hellos"));
  EXPECT_THAT(BuildAll({true, true}, Backend::kAuto, {1}), Each("socket, 0 hellos"));
}

TEST(BuildCommunicator, WarnsOfNcclForHostMemoryAlone) {
  const LogCapture log(LogLevel::kInfo);
  EXPECT_THAT(BuildAll({true, true}, Backend::kNccl, {0, 1}), Each("socket, 0 hellos"));
  EXPECT_THAT(log.Text(), testing::StartsWith("muster: warning: backend: nccl is not used: "));
  EXPECT_EQ(std::ranges::count(log.Text(), '\n'), 1);
}

TEST(BuildCommunicator, RefusesNcclWhereOneRankTakesHostMemoryAlone) {
  EXPECT_THAT(
      BuildAll({true, true}, Backend::kNccl, {1}),
      Each("backend is nccl, but rank 1 on gpu01 takes host memory only (muster's C or Python interface)"));
}

TEST(DataPayload, IsTheEndpointAndOneByteForItsMemory) {
  const auto endpoint = socket::SocketEndpoint::Open();
  ASSERT_TRUE(endpoint);
  const Bytes inner = (*endpoint)->payload();
  Bytes expected = {static_cast<uint8_t>(inner.size()), 0, 0, 0};
  expected.insert(expected.end(), inner.begin(), inner.end());
  DataOptions options;
  options.backend = Backend::kAuto;
  for (const auto& [has_device, host_only, memory] :
       {std::tuple{false, false, uint8_t{0}}, std::tuple{true, false, uint8_t{1}},
        std::tuple{true, true, uint8_t{2}}}) {
    options.gpu.has_device = [has = has_device] { return has; };
    options.host_only = host_only;
    expected.resize(4 + inner.size());
    expected.push_back(memory);
    EXPECT_EQ(DataPayload(**endpoint, options), expected);
  }
}

TEST(BuildCommunicatorFromRoster, NamesWhoBroughtSomethingElse) {
  Roster roster = socket::MakeRoster(socket::BlockLayout({2}));
  auto endpoint = socket::SocketEndpoint::Open();
  ASSERT_TRUE(endpoint);
  roster.members.own()[0].payload = DataPayload(**endpoint, {});
  roster.members.own()[1].payload = {1, 2, 3};
  socket::FakeGroupState state(roster);
  socket::FakeGroup group(state, 0);
  const auto plane = BuildCommunicatorFromRoster(group, *std::move(endpoint), {}, Soon());
  ASSERT_FALSE(plane);
  EXPECT_EQ(plane.error().code, Code::kDisagreement);
  EXPECT_EQ(plane.error().message, "rank 1 on gpu01 sent a malformed data endpoint: it ends too early");
}

TEST(BuildCommunicatorOfOne, OpensNothing) {
  socket::FakeGroupState state(socket::MakeRoster({0}));
  socket::FakeGroup group(state, 0);
  const auto plane = BuildCommunicatorOfOne(group, {}, Soon());
  ASSERT_TRUE(plane);
  EXPECT_EQ(plane->communicator->size(), 1);
  EXPECT_EQ(plane->communicator->backend(), "socket");
}

// One rank on a machine with a GPU.
class OneWithAGpu : public testing::Test {
 protected:
  OneWithAGpu() {
    options_.route_nccl_log = false;
    options_.gpu.has_device = [] { return true; };
    options_.gpu.load_cuda = [this]() -> Result<std::unique_ptr<nccl::CudaApi>> {
      if (!loads_) return Fail(Code::kConfiguration, "cannot load it");
      auto cuda = std::make_unique<nccl::ComputingCuda>();
      cuda_ = cuda.get();
      return cuda;
    };
    options_.gpu.load_nccl = [this]() -> Result<std::unique_ptr<nccl::NcclApi>> {
      // On the same GPU; the communicator keeps both.
      const std::shared_ptr<nccl::ComputingCuda> same(std::shared_ptr<void>(), cuda_);
      return std::make_unique<nccl::ComputingNccl>(fabric_, same, 0);
    };
  }

  Result<DataPlane> Build(Backend backend) {
    options_.backend = backend;
    return BuildCommunicatorOfOne(group_, options_, Soon());
  }
  Status SumOnDevice(Communicator& alone) {
    void* memory = nullptr;
    EXPECT_EQ(cuda_->Allocate(&memory, sizeof(float)), nccl::CudaResult::kSuccess);
    const Buffer one = {memory, 1, DataType::kF32, Memory::kDevice};
    const Status queued = alone.AllReduce(one, one, ReduceOp::kSum);
    const Status done = alone.Synchronize();
    EXPECT_EQ(cuda_->Free(memory), nccl::CudaResult::kSuccess);
    return queued ? done : queued;
  }

  socket::FakeGroupState state_{socket::MakeRoster({0})};
  socket::FakeGroup group_{state_, 0};
  const std::shared_ptr<nccl::FakeFabric> fabric_ = std::make_shared<nccl::FakeFabric>();
  nccl::ComputingCuda* cuda_ = nullptr;
  bool loads_ = true;
  DataOptions options_;
};

// All that works with many ranks works with one.
TEST_F(OneWithAGpu, LoadsNoCudaForHostMemoryAlone) {
  options_.host_only = true;
  options_.gpu.has_device = [] { return ADD_FAILURE() << "looked for a GPU", true; };
  for (const Backend backend : {Backend::kAuto, Backend::kNccl}) {
    const auto plane = Build(backend);
    ASSERT_TRUE(plane);
    EXPECT_EQ(plane->communicator->backend(), "socket");
  }
  EXPECT_EQ(cuda_, nullptr);
}

TEST_F(OneWithAGpu, TakesDeviceMemoryUnlessSocketsAreConfigured) {
  for (const Backend backend : {Backend::kAuto, Backend::kNccl}) {
    const auto plane = Build(backend);
    ASSERT_TRUE(plane) << plane.error().message;
    EXPECT_EQ(plane->communicator->backend(), "nccl");
    EXPECT_EQ(socket::MessageOf(SumOnDevice(*plane->communicator)), "");
    EXPECT_EQ(socket::MessageOf(plane->communicator->Barrier()), "");
  }
  cuda_ = nullptr;
  const auto plane = Build(Backend::kSocket);
  ASSERT_TRUE(plane) << plane.error().message;
  EXPECT_EQ(plane->communicator->backend(), "socket");
  EXPECT_EQ(cuda_, nullptr) << "nothing was loaded";
}

TEST_F(OneWithAGpu, GoesWithoutWhereItCannotBeUsed) {
  loads_ = false;
  const auto plane = Build(Backend::kAuto);
  ASSERT_TRUE(plane) << plane.error().message;
  EXPECT_EQ(plane->communicator->backend(), "socket");
  EXPECT_EQ(Build(Backend::kNccl).error().message,
            "backend: nccl needs a GPU for every rank; rank 0 on gpu01: cannot load it");
}

}  // namespace
}  // namespace muster
