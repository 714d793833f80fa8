#include "comm/init/init.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "comm/base/fields.h"
#include "comm/rendezvous/messages/compact_roster.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/nccl/computing_cuda.h"
#include "tests/comm/nccl/computing_nccl.h"
#include "tests/comm/socket/fake_group.h"
#include "tests/comm/socket/man_in_the_middle.h"

namespace muster {
namespace {

using testing::Each;

Deadline Soon() { return Deadline::After(std::chrono::minutes(2)); }

// The result of every rank of a group; `set` gets the options of each.
std::vector<std::string> BuildOn(const std::vector<int>& node_of_rank,
                                 const std::function<void(int rank, DataOptions& options)>& set) {
  socket::FakeGroupState state(socket::MakeRoster(node_of_rank));
  std::vector<std::string> results(node_of_rank.size());
  std::vector<std::thread> threads;
  for (size_t at = 0; at < node_of_rank.size(); ++at) {
    threads.emplace_back([&, at] {
      const int rank = static_cast<int>(at);
      socket::FakeGroup group(state, rank);
      DataOptions options;
      options.route_nccl_log = false;
      set(rank, options);
      auto endpoint = socket::SocketEndpoint::Open();
      ASSERT_TRUE(endpoint);
      auto plane = BuildCommunicator(group, *std::move(endpoint), options, Soon());
      if (!plane) {
        results[at] = plane.error().message;
        return;
      }
      results[at] = fmt::format("{}, {} hellos", plane->communicator->backend(), plane->gpus.size());
      EXPECT_EQ(socket::MessageOf(plane->communicator->Barrier()), "");
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

// On one node; `gpu_files[r]`: whether rank r seems to have a GPU. No CUDA can be loaded.
std::vector<std::string> BuildAll(const std::vector<bool>& gpu_files, Backend backend,
                                  const std::set<int>& host_only = {}) {
  return BuildOn(std::vector<int>(gpu_files.size()), [&](int rank, DataOptions& options) {
    options.backend = backend;
    options.host_only = host_only.contains(rank);
    options.gpu.has_device = [has = gpu_files[static_cast<size_t>(rank)]] { return has; };
    options.gpu.load_cuda = []() -> Result<std::unique_ptr<nccl::CudaApi>> {
      return Fail(Code::kConfiguration, "cannot load it");
    };
  });
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

// rendezvous.protect: all.
TEST(BuildCommunicator, RefusesNcclBetweenNodesIfDataIsToBeSealed) {
  const auto fabric = std::make_shared<nccl::FakeFabric>();
  const auto with_gpus = [&fabric](Protect protect) {
    return BuildOn({0, 1}, [&fabric, protect](int rank, DataOptions& options) {
      options.backend = Backend::kAuto;
      options.protect = protect;
      options.gpu.has_device = [] { return true; };
      options.gpu.load_cuda = [rank]() -> Result<std::unique_ptr<nccl::CudaApi>> {
        auto cuda = std::make_unique<nccl::ComputingCuda>();
        cuda->device.uuid = {static_cast<uint8_t>(rank + 1)};
        return cuda;
      };
      options.gpu.load_nccl = [rank, fabric]() -> Result<std::unique_ptr<nccl::NcclApi>> {
        return std::make_unique<nccl::ComputingNccl>(fabric, std::make_shared<nccl::ComputingCuda>(), rank);
      };
    });
  };
  EXPECT_THAT(with_gpus(Protect::kControl), Each("nccl, 2 hellos"));
  EXPECT_THAT(with_gpus(Protect::kAll),
              Each("rendezvous.protect is all, but the backend of this group is nccl, and NCCL does not "
                   "encrypt what it sends between its 2 nodes"));
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

TEST(DataPayload, OfAHundredThousandRanksTakesLessThanAMegabyteInARoster) {
  constexpr int kRanks = 8;
  Roster roster;
  for (int node = 0; node < 12500; ++node) roster.nodes.push_back({fmt::format("gpu{:05}", node), {}});
  for (int rank = 0; rank < 12500 * kRanks; ++rank) {
    const auto port = static_cast<uint16_t>(32768 + rank * 7919 % 28232);
    const Bytes endpoint = socket::EncodeEndpoint({fmt::format("data-00000001-{}", port), port, 1, 7});
    roster.members.push_back(
        {rank / kRanks, rank % kRanks, 4000 + rank, EncodeFields(endpoint, uint8_t{0}), rank});
  }
  EXPECT_LT(rendezvous::EncodeTable(roster).size(), 700'000U);
}

// The bytes between two ranks on two nodes while rank 0 broadcasts `text`. Either of the two may connect.
std::string SeenBetweenNodes(Protect protect, std::string_view text) {
  Roster roster = socket::MakeRoster(socket::BlockLayout({1, 1}));
  DataOptions options;
  options.protect = protect;
  std::vector<std::unique_ptr<socket::SocketEndpoint>> endpoints;
  std::vector<std::unique_ptr<socket::ManInTheMiddle>> men;
  for (Roster::Member& member : roster.members.own()) {
    endpoints.push_back(*socket::SocketEndpoint::Open());
    socket::EndpointAddress address = endpoints.back()->address();
    men.push_back(std::make_unique<socket::ManInTheMiddle>(address.port,
                                                           [](socket::ManInTheMiddle::Passing&, Bytes&) {}));
    address.port = men.back()->port();
    member.payload = EncodeFields(socket::EncodeEndpoint(address), uint8_t{0});
  }
  socket::FakeGroupState state(roster);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      socket::FakeGroup group(state, rank);
      const auto plane = BuildCommunicatorFromRoster(group, std::move(endpoints[static_cast<size_t>(rank)]),
                                                     options, Soon());
      ASSERT_TRUE(plane) << plane.error().message;
      std::vector<uint8_t> data(text.begin(), text.end());
      if (rank != 0) data.assign(text.size(), 0);
      EXPECT_EQ(socket::MessageOf(plane->communicator->Broadcast(std::span(data), 0)), "");
      EXPECT_EQ(AsText(data), text);
      EXPECT_EQ(socket::MessageOf(plane->communicator->Barrier()), "");
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string seen;
  for (const auto& man : men) seen += AsText(man->Seen());
  return seen;
}

// rendezvous.protect.
TEST(BuildCommunicatorFromRoster, SealsDataBetweenNodesOnlyIfAsked) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  EXPECT_THAT(SeenBetweenNodes(Protect::kControl, text), testing::HasSubstr(text));
  EXPECT_THAT(SeenBetweenNodes(Protect::kAll, text), testing::Not(testing::HasSubstr(text)));
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
