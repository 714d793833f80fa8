// The owner ends a communicator of NCCL while another thread is in its calls.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include "tests/comm/nccl/nccl_world.h"

namespace muster::nccl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The first launch of rank 0 waits for rank 1, and reports that it does.
class ReportingFabric final : public FakeFabric {
 public:
  NcclResult Run(const std::vector<FakeCall>& calls, FakeCut& cut) override {
    if (calls.front().rank == 0 && armed_.exchange(false)) entered_.set_value();
    return FakeFabric::Run(calls, cut);
  }
  // From now on: the start launches as well.
  void Arm() { armed_ = true; }
  void AwaitEntered() { entered_.get_future().wait(); }

 private:
  std::atomic<bool> armed_ = false;
  std::promise<void> entered_;
};

// EndGroup launches it, and is no collective of its own.
Status AllReduceInAGroup(Communicator& c, ComputingCuda& cuda, CudaStream stream) {
  void* memory = nullptr;
  EXPECT_EQ(cuda.Allocate(&memory, sizeof(float)), CudaResult::kSuccess);
  const Buffer buffer{memory, 1, DataType::kF32, Memory::kDevice};
  CallOptions options;
  options.stream = stream;
  MUSTER_CHECK(c.BeginGroup());
  const Status queued = c.AllReduce(buffer, buffer, ReduceOp::kSum, options);
  const Status launched = c.EndGroup();
  EXPECT_EQ(cuda.Synchronize(stream), CudaResult::kSuccess);
  EXPECT_EQ(cuda.Free(memory), CudaResult::kSuccess);
  MUSTER_CHECK(queued);
  return launched;
}

TEST(NcclClose, WaitsForACallOnTheDeviceAndRefusesLaterOnes) {
  const auto fabric = std::make_shared<ReportingFabric>();
  NcclWorld world(
      socket::BlockLayout({2}), NcclWorld::Through::kNothing, TestSettings(),
      [](FakeFabric& made) { made.connects = true; }, fabric);
  std::array<CudaStream, 2> streams{};
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(world.cuda(rank).CreateStream(&streams[static_cast<size_t>(rank)]), CudaResult::kSuccess);
  }
  const auto call = [&](int rank) {
    return AllReduceInAGroup(world.at(rank), world.cuda(rank), streams[static_cast<size_t>(rank)]);
  };
  Status status;
  fabric->Arm();
  std::thread caller([&] { status = call(0); });
  fabric->AwaitEntered();
  Communicator& closed = world.at(0);
  EXPECT_FALSE(closed.Close(Deadline::After(milliseconds(100)))) << "a call is under way";
  EXPECT_EQ(socket::MessageOf(call(1)), "");
  caller.join();
  EXPECT_EQ(socket::MessageOf(status), "");
  EXPECT_TRUE(closed.Close(Deadline::After(seconds(60))));

  const auto refused = [](const auto& result) { return !result && result.error().code == Code::kUsage; };
  float value = 0;
  const Buffer device{&value, 1, DataType::kF32, Memory::kDevice};
  EXPECT_EQ(socket::MessageOf(closed.Send(device, 1)), "Send: this process has ended the communicator");
  EXPECT_TRUE(refused(closed.AllReduce(device, device, ReduceOp::kSum)));
  EXPECT_TRUE(refused(closed.Barrier()));
  EXPECT_TRUE(refused(closed.AllGatherBytes({})));
  EXPECT_TRUE(refused(closed.Split(0, 0)));
  EXPECT_TRUE(refused(closed.BeginGroup()));
  EXPECT_EQ(socket::MessageOf(closed.Synchronize()), "Synchronize: this process has ended the communicator");
  EXPECT_EQ(world.state().failure(), std::nullopt);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(world.cuda(rank).DestroyStream(streams[static_cast<size_t>(rank)]), CudaResult::kSuccess);
  }
}

// The limit of the user's threads is reached, and nothing else is wrong.
TEST(NcclEnd, WithoutAThreadIsNoAbort) {
  NcclWorld world(socket::BlockLayout({1}), NcclWorld::Through::kNothing);
  rlimit before{};
  getrlimit(RLIMIT_NPROC, &before);
  std::thread([&] {
    constexpr uid_t kNoOwner = 65534;
    if (geteuid() == 0) syscall(SYS_setresuid, kNoOwner, kNoOwner, kNoOwner);  // of this thread alone
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
    world.Leave(0);
  }).join();
  setrlimit(RLIMIT_NPROC, &before);
  EXPECT_EQ(world.ended().front(), "");
  const std::lock_guard lock(world.fabric().mutex);
  EXPECT_EQ(world.fabric().living, 0);
  EXPECT_TRUE(world.fabric().aborted_together.empty());
}

// Its launch is dropped, and the thread's turn with it.
TEST(NcclClose, EndsAGroupThatWasBegun) {
  NcclWorld world(socket::BlockLayout({1}), NcclWorld::Through::kNothing);
  ASSERT_EQ(socket::MessageOf(world.at(0).BeginGroup()), "");
  EXPECT_TRUE(world.at(0).Close(Deadline::After(seconds(60))));
  EXPECT_EQ(socket::MessageOf(world.at(0).EndGroup()), "EndGroup: this process has ended the communicator");
}

// Lasts as long as this.
class GroupOfAnotherThread {
 public:
  explicit GroupOfAnotherThread(Communicator& of) {
    std::promise<void> begun;
    thread_ = std::thread([this, &of, &begun] {
      EXPECT_EQ(socket::MessageOf(of.BeginGroup()), "");
      begun.set_value();
      end_.get_future().wait();
      EXPECT_EQ(socket::MessageOf(of.EndGroup()), "");
    });
    begun.get_future().wait();
  }
  GroupOfAnotherThread(const GroupOfAnotherThread&) = delete;
  GroupOfAnotherThread& operator=(const GroupOfAnotherThread&) = delete;
  ~GroupOfAnotherThread() {
    end_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> end_;
  std::thread thread_;
};

// The thread that began a group may have left at an error, without EndGroup.
TEST(NcclGroups, ThatDoNotEndLeaveNoOtherThreadWaiting) {
  NcclSettings settings = TestSettings();
  settings.timeouts.collective = milliseconds(100);
  NcclWorld world(socket::BlockLayout({1}), NcclWorld::Through::kNothing, settings);
  const GroupOfAnotherThread other(world.at(0));
  EXPECT_EQ(socket::MessageOf(world.at(0).BeginGroup()),
            "BeginGroup: another thread of rank 0 on gpu01 was in a call or between BeginGroup and EndGroup "
            "for 100ms");
  EXPECT_EQ(world.state().failure()->code, Code::kDeadline);
}

// A call of rank 0 that waits for another thread's group for most of its timeout, and then for rank 1, which never comes:
// it has one deadline for both.
void ExpectOneDeadline(const std::function<Status(NcclWorld&, const CallOptions&)>& call) {
  constexpr Duration kTimeout = seconds(3);
  NcclWorld world(socket::BlockLayout({2}), NcclWorld::Through::kNothing);
  std::optional<GroupOfAnotherThread> other(std::in_place, world.at(0));
  const auto began = Clock::now();
  std::thread caller([&] { EXPECT_EQ(call(world, {.timeout = kTimeout}).error().code, Code::kDeadline); });
  std::this_thread::sleep_until(began + kTimeout * 7 / 8);
  other.reset();
  caller.join();
  EXPECT_LT(Clock::now() - began, kTimeout * 3 / 2);
}

TEST(NcclGroups, OfAnotherThreadCountForTheDeadlineOfARecv) {
  ExpectOneDeadline([](NcclWorld& world, CallOptions options) -> Status {
    void* memory = nullptr;
    CudaStream stream = nullptr;
    EXPECT_EQ(world.cuda(0).Allocate(&memory, sizeof(float)), CudaResult::kSuccess);
    EXPECT_EQ(world.cuda(0).CreateStream(&stream), CudaResult::kSuccess);
    options.stream = stream;
    MUSTER_CHECK(world.at(0).Recv({memory, 1, DataType::kF32, Memory::kDevice}, 1, options));
    return world.at(0).Synchronize();
  });
}

TEST(NcclGroups, OfAnotherThreadCountForTheDeadlineOfASplit) {
  ExpectOneDeadline([](NcclWorld& world, const CallOptions& options) -> Status {
    MUSTER_CHECK(world.at(0).Split(0, 0, options));
    return {};
  });
}

// It waits for the other thread's group until the whole group has failed.
TEST(NcclGroups, OfAFailedGroupLetOtherThreadsReturn) {
  NcclWorld world(socket::BlockLayout({1}), NcclWorld::Through::kNothing);
  const GroupOfAnotherThread other(world.at(0));
  std::thread control_plane([&] { world.state().Fail({Code::kPeerLost, "rank 1 was killed", ""}); });
  EXPECT_EQ(socket::MessageOf(world.at(0).Split(0, 0)), "rank 1 was killed");
  control_plane.join();
}

}  // namespace
}  // namespace muster::nccl
