// Every rank reports its GPU, and all come to the same answer.
#include "comm/nccl/nccl_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/nccl/computing_nccl.h"
#include "tests/comm/socket/fake_group.h"

namespace muster::nccl {
namespace {

using testing::Each;
using testing::HasSubstr;

// One rank's machine.
struct Machine {
  bool has_device = true;
  bool has_cuda = true;
  bool has_nccl = true;
  uint8_t gpu = 0;  // its UUID; 0: the rank's own
  int gpus = 1;
  int driver = 13'010;
  std::function<void()> before_cuda = [] {};
};

Deadline AMinute(int) { return Deadline::After(std::chrono::minutes(1)); }

class Ranks {
 public:
  explicit Ranks(const std::vector<Machine>& machines,
                 const std::vector<int>& layout = socket::BlockLayout({2, 1}))
      : host_(layout), machines_(machines) {}
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // The end of each rank: the backend's name, or the error.
  std::vector<std::string> Take(Backend configured, const NcclOptions& options = {},
                                const std::function<Deadline(int rank)>& deadline_of = AMinute) {
    NcclRequest request;
    request.configured = configured;
    request.options = options;
    request.timeouts.init = std::chrono::minutes(1);
    request.route_log = false;
    request.protect = protect;
    std::vector<std::string> results(machines_.size());
    chosen_.resize(machines_.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < machines_.size(); ++rank) {
      threads.emplace_back([&, rank] {
        const int r = static_cast<int>(rank);
        auto taken =
            TakeNcclWhereAgreed(host_.group(r), host_.Take(r), Surroundings(r), request, deadline_of(r));
        results[rank] = taken ? std::string(taken->communicator->backend()) : taken.error().message;
        if (taken) chosen_[rank] = *std::move(taken);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }
  // As processes leave.
  void Leave() {
    std::vector<std::thread> threads;
    for (ChosenBackend& chosen : chosen_) threads.emplace_back([&] { chosen.communicator.reset(); });
    for (std::thread& thread : threads) thread.join();
  }
  ~Ranks() { Leave(); }
  FakeFabric& fabric() { return *fabric_; }
  Group& group(int rank) { return host_.group(rank); }
  const std::vector<GpuHello>& hellos() const { return chosen_.front().hellos; }
  Protect protect = Protect::kControl;

 private:
  GpuSurroundings Surroundings(int rank) {
    const Machine& machine = machines_[static_cast<size_t>(rank)];
    GpuSurroundings here;
    here.has_device = [machine] { return machine.has_device; };
    here.load_cuda = [machine, rank]() -> Result<std::unique_ptr<CudaApi>> {
      machine.before_cuda();
      if (!machine.has_cuda) return Fail(Code::kConfiguration, "cannot load libcudart.so.13");
      auto loaded = std::make_unique<ComputingCuda>();
      loaded->device.uuid = {machine.gpu == 0 ? static_cast<uint8_t>(rank + 1) : machine.gpu};
      loaded->count = machine.gpus;
      loaded->driver = machine.driver;
      return loaded;
    };
    here.load_nccl = [machine, rank, fabric = fabric_]() -> Result<std::unique_ptr<NcclApi>> {
      if (!machine.has_nccl) return Fail(Code::kConfiguration, "cannot load libnccl.so.2");
      return std::make_unique<ComputingNccl>(fabric, std::make_shared<ComputingCuda>(), rank);
    };
    return here;
  }

  socket::FakeWorld host_;
  const std::vector<Machine> machines_;
  const std::shared_ptr<FakeFabric> fabric_ = std::make_shared<FakeFabric>();
  std::vector<ChosenBackend> chosen_;
};

TEST(TakeNccl, WhereEveryRankHasAGpuOfItsOwn) {
  Ranks group(std::vector<Machine>(3));
  EXPECT_THAT(group.Take(Backend::kAuto), Each("nccl"));
  EXPECT_EQ(group.hellos()[1].nccl, "2.32.3");
  EXPECT_EQ(group.hellos()[1].cuda, "13.0");
  EXPECT_EQ(group.hellos()[1].driver, "13.1");
  EXPECT_EQ(group.hellos()[1].verdict.name, "Computing GPU");
}

TEST(TakeNccl, LeavesADriverThatHangsOnceTheGroupFails) {
  std::promise<void> release;
  Ranks* ranks = nullptr;
  std::vector<Machine> machines(3);
  machines[0].before_cuda = [released = release.get_future().share()] { released.wait(); };
  machines[1].before_cuda = [&ranks] {
    ranks->group(1).Fail({Code::kPeerLost, "rank 2 on gpu02 was killed", ""});
  };
  Ranks group(machines);
  ranks = &group;
  const Clock::time_point begun = Clock::now();
  EXPECT_THAT(group.Take(Backend::kAuto), Each("rank 2 on gpu02 was killed"));
  // Half of the minute that Take gives.
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(29));
  release.set_value();
}

// Also if no user has named NCCL: without its GPUs the group would be another one.
TEST(TakeNccl, NotWhereItWouldHaveToEncryptBetweenNodes) {
  for (const Backend configured : {Backend::kAuto, Backend::kNccl}) {
    Ranks group(std::vector<Machine>(3));
    group.protect = Protect::kAll;
    EXPECT_THAT(group.Take(configured),
                Each(HasSubstr("NCCL does not encrypt what it sends between its 2 nodes")));
    Ranks one_node(std::vector<Machine>(2), socket::BlockLayout({2}));
    one_node.protect = Protect::kAll;
    EXPECT_THAT(one_node.Take(configured), Each("nccl"));
  }
}

// One line for the group, however many ranks see nothing but their own GPU.
TEST(TakeNccl, SaysOnceThatPeersAreHidden) {
  LogCapture log(LogLevel::kWarning);
  Ranks group(std::vector<Machine>(3));
  EXPECT_THAT(group.Take(Backend::kAuto), Each("nccl"));
  const std::string said = log.Text();
  const std::string advice =
      "2 of 3 ranks see one GPU only, although their nodes have several ranks (0,1; the first: rank 0 on "
      "gpu01): "
      "peer-to-peer and CUDA IPC between them may not work";
  EXPECT_THAT(said, HasSubstr(advice));
  EXPECT_EQ(said.find("see one GPU only"), said.rfind("see one GPU only"));
}

// The hello and NCCL's start share one deadline, on all ranks that of the first.
TEST(TakeNccl, GivesTheStartTheTimeThatIsLeft) {
  Ranks group(std::vector<Machine>(3));
  group.fabric().never_joins = {2};
  const auto deadline_of = [](int rank) {
    return Deadline::After(rank == 1 ? std::chrono::seconds(5) : std::chrono::hours(1));
  };
  EXPECT_THAT(
      group.Take(Backend::kAuto, {}, deadline_of),
      Each("NCCL did not start within 1m on 3 of 3 ranks: ranks 0-2 (the first: rank 0 on gpu01) waited in "
           "it; no rank was through"));
}

TEST(TakeSockets, WhereNoRankHasAGpu) {
  LogCapture log(LogLevel::kDebug);
  Ranks group({{.has_device = false}, {.has_device = false}, {.has_device = false}});
  EXPECT_THAT(group.Take(Backend::kAuto), Each("socket"));
  EXPECT_THAT(log.Text(),
              HasSubstr("backend: socket (no rank has a GPU; rank 0 on gpu01: no NVIDIA device "
                        "(neither /proc/driver/nvidia/version nor /dev/nvidiactl nor /dev/dxg))"));
}

TEST(TakeSockets, WithAWarningWhereGpusCannotBeUsed) {
  LogCapture log(LogLevel::kWarning);
  Ranks group({{.has_nccl = false}, {.has_nccl = false}, {.has_nccl = false}});
  EXPECT_THAT(group.Take(Backend::kAuto), Each("socket"));
  EXPECT_THAT(log.Text(),
              HasSubstr("backend: socket (no rank has a GPU; rank 0 on gpu01: cannot load libnccl.so.2"));
}

TEST(Mixture, IsRefusedAndNamesTheNodes) {
  Ranks group({{}, {}, {.has_device = false}});
  EXPECT_THAT(
      group.Take(Backend::kAuto),
      Each(testing::StartsWith("some ranks have a GPU and some have none: with on gpu01; without on gpu02 "
                               "(rank 2 on gpu02: no NVIDIA device")));
}

TEST(Nccl, AskedForIsRefusedWithoutAGpu) {
  Ranks group({{}, {.driver = 0}, {}});
  EXPECT_THAT(group.Take(Backend::kNccl),
              Each("backend: nccl needs a GPU for every rank; rank 1 on gpu01: no CUDA "
                   "driver (libcuda.so.1)"));
}

TEST(OneGpu, ForTwoRanksOfANodeIsRefused) {
  Ranks group({{.gpu = 7}, {.gpu = 7}, {.gpu = 7}});
  EXPECT_THAT(group.Take(Backend::kAuto),
              Each(testing::StartsWith("rank 0 and rank 1 on gpu01 use the same GPU, GPU-07000000")));
}

TEST(OneGpu, MayBeSharedWhereThatIsSaid) {
  Ranks group({{.gpu = 7}, {.gpu = 7}, {.gpu = 7}});
  NcclOptions options;
  options.share_device = true;
  EXPECT_THAT(group.Take(Backend::kAuto, options), Each("nccl"));
}

// Two ranks on each.
TEST(TwoGpus, MayBeSharedByFourRanks) {
  Ranks group(std::vector<Machine>(4, Machine{.gpu = 7, .gpus = 2}), socket::BlockLayout({4}));
  NcclOptions options;
  options.share_device = true;
  EXPECT_THAT(group.Take(Backend::kAuto, options), Each("nccl"));
  std::vector<int> ordinals;
  for (const GpuHello& hello : group.hellos()) ordinals.push_back(hello.verdict.ordinal);
  EXPECT_EQ(ordinals, (std::vector<int>{0, 1, 0, 1}));
}

TEST(TooFewGpus, AreTheGroupsErrorWithTheRanksName) {
  Ranks group({{.gpus = 2}, {.gpus = 2}, {.gpus = 2}, {}}, socket::BlockLayout({3, 1}));
  EXPECT_THAT(group.Take(Backend::kAuto),
              Each(testing::StartsWith("rank 0 on gpu01: 3 ranks on this node see 2 GPUs")));
}

}  // namespace
}  // namespace muster::nccl
