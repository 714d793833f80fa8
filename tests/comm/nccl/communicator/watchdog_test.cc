// Operations that NCCL never ends by itself end here: on every rank, with the culprit's name, in one abort of
// all communicators.
#include "comm/nccl/communicator/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <numeric>
#include <thread>

#include "tests/comm/nccl/nccl_world.h"

namespace muster::nccl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;

// One float on the device of a rank.
class OnDevice {
 public:
  OnDevice(ComputingCuda& cuda, size_t count) : cuda_(cuda), count_(count) {
    EXPECT_EQ(cuda_.Allocate(&memory_, count * sizeof(float)), CudaResult::kSuccess);
    std::fill_n(static_cast<float*>(memory_), count, 1.0f);
    EXPECT_EQ(cuda_.CreateStream(&stream_), CudaResult::kSuccess);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    EXPECT_EQ(cuda_.DestroyStream(stream_), CudaResult::kSuccess);
    EXPECT_EQ(cuda_.Free(memory_), CudaResult::kSuccess);
  }
  Buffer buffer() const { return {memory_, count_, DataType::kF32, Memory::kDevice}; }
  CudaStream stream() const { return stream_; }
  float first() const { return *static_cast<const float*>(memory_); }

 private:
  ComputingCuda& cuda_;
  const size_t count_;
  void* memory_ = nullptr;
  CudaStream stream_ = nullptr;
};

// Queues an AllReduce on the device, and waits for it.
Status AllReduceOnDevice(NcclWorld& world, Communicator& c, size_t count, CallOptions options = {}) {
  const OnDevice data(world.cuda(c.rank()), count);
  options.stream = data.stream();
  MUSTER_CHECK(c.AllReduce(data.buffer(), data.buffer(), ReduceOp::kSum, options));
  return c.Synchronize();
}

constexpr auto kBare = NcclWorld::Through::kNothing;

TEST(NcclPeerLost, EndsEveryRankAndAllItsCommunicatorsInOneGroup) {
  NcclWorld world(socket::BlockLayout({2, 2}), kBare);
  std::vector<std::unique_ptr<Communicator>> halves(4);
  world.Run([&](Communicator& c) {
    auto half = c.Split(c.rank() % 2, 0);
    ASSERT_TRUE(half) << half.error().message;
    halves[static_cast<size_t>(c.rank())] = *std::move(half);
  });
  const Error cause{Code::kPeerLost, "rank 3 on gpu02 was killed by signal 9", ""};
  world.Run([&](Communicator& c) {
    if (c.rank() == 3) return world.state().Fail(cause);
    EXPECT_EQ(AllReduceOnDevice(world, c, 8).error(), cause);
    EXPECT_EQ(AllReduceOnDevice(world, *halves[static_cast<size_t>(c.rank())], 8).error(), cause);
    EXPECT_EQ(c.Barrier().error(), cause);
    EXPECT_EQ(c.Split(0, 0).error(), cause);
  });
  halves.clear();
  for (int rank = 0; rank < 4; ++rank) world.Leave(rank);
  EXPECT_EQ(world.fabric().aborted_together, (std::vector<int>{2, 2, 2, 2}));
  EXPECT_EQ(world.fabric().living, 0);
  EXPECT_THAT(world.ended(), Each(""));
}

TEST(NcclPeerLost, LeavesTheProcessFitForANewGroup) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    NcclWorld world(socket::BlockLayout({3}), kBare);
    ASSERT_THAT(world.started(), Each(""));
    EXPECT_THAT(world.Messages([&](Communicator& c) { return AllReduceOnDevice(world, c, 100); }), Each(""));
    world.state().Fail({Code::kPeerLost, "rank 1 on gpu01 was killed by signal 9", ""});
    EXPECT_THAT(world.Messages([&](Communicator& c) { return AllReduceOnDevice(world, c, 100); }),
                Each("rank 1 on gpu01 was killed by signal 9"));
  }
}

// A program that ends at an error does not call Shutdown; NCCL's static objects end with the process.
TEST(NcclPeerLostDeathTest, IsAbortedBeforeTheProcessHasEnded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  static FakeFabric* fabric = nullptr;
  const auto end = [] {
    NcclWorld world(socket::BlockLayout({2}), kBare, TestSettings(), [](FakeFabric& made) {
      fabric = &made;
      std::atexit([] {
        const std::lock_guard lock(fabric->mutex);
        // Not _exit, where ThreadSanitizer misses the join of a thread that has ended.
        syscall(SYS_exit_group, static_cast<int>(fabric->aborted_together.size()));
      });
    });
    world.state().Fail({Code::kPeerLost, "rank 1 on gpu01 was killed by signal 9", ""});
    std::exit(75);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(2), "");
}

TEST(NcclForkDeathTest, ExitOfAChildDoesNotWait) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end = [] {
    NcclSettings settings = TestSettings();
    settings.abort_within = std::chrono::hours(1);
    // The threads of the parent are not in the child: what they own is lost there.
    const auto end_before_leak_check = [](FakeFabric&) { std::atexit([] { _exit(0); }); };
    const NcclWorld world(socket::BlockLayout({1}), kBare, settings, end_before_leak_check);
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    int status = -1;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? 10 + WEXITSTATUS(status) : 1);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(10), "");
}

TEST(NcclAsyncError, BecomesTheGroupsFailureWithTheRanksName) {
  NcclWorld world(socket::BlockLayout({2, 1}), kBare);
  world.fabric().BreakComms(2, NcclResult::kUnhandledCudaError, "Cuda failure 719");
  EXPECT_THAT(world.Messages([&](Communicator& c) { return AllReduceOnDevice(world, c, 8); }),
              Each("NCCL failed on rank 2 on gpu02: unhandled cuda error: Cuda failure 719"));
  EXPECT_EQ(world.state().failure()->code, Code::kSystem);
}

// Of a rank that makes no call of its own meanwhile.
TEST(NcclAsyncError, OfAnInvalidUsageIsOne) {
  NcclWorld world(socket::BlockLayout({2}), kBare);
  world.fabric().BreakComms(1, NcclResult::kInvalidUsage, "mixed streams");
  EXPECT_EQ(socket::MessageOf(AllReduceOnDevice(world, world.at(0), 8, {.timeout = seconds(20)})),
            "NCCL failed on rank 1 on gpu01: invalid usage: mixed streams");
}

TEST(NcclAsyncError, OfARemoteWaitsForTheControlPlanesWord) {
  NcclSettings settings = TestSettings();
  settings.cause_grace = std::chrono::minutes(1);
  NcclWorld world(socket::BlockLayout({2}), kBare, settings);
  const Error cause{Code::kPeerLost, "rank 1 on gpu01 was killed by signal 9", ""};
  world.fabric().BreakComms(0, NcclResult::kRemoteError, "connection closed by peer");
  std::thread control_plane([&] { world.state().Fail(cause); });
  EXPECT_EQ(AllReduceOnDevice(world, world.at(0), 8).error(), cause);
  control_plane.join();
}

TEST(NcclGpuError, NamesTheRank) {
  NcclWorld world(socket::BlockLayout({2}), kBare);
  world.cuda(1).Break(CudaResult{700});
  EXPECT_THAT(world.Messages([&](Communicator& c) -> Status {
    MUSTER_CHECK(AllReduceOnDevice(world, c, 8));
    return c.Barrier();
  }),
              Each("the GPU failed on rank 1 on gpu01: an illegal memory access was encountered"));
}

// A call that needs a rank which never comes: NCCL does not end it by itself.
TEST(NcclLaunch, ThatWaitsForAPeerEndsWithTheGroup) {
  NcclWorld world(socket::BlockLayout({2, 1}), kBare, TestSettings(),
                  [](FakeFabric& fabric) { fabric.connects = true; });
  const std::vector<std::string> messages = world.Messages([&](Communicator& c) -> Status {
    if (c.rank() == 2) return {};
    return AllReduceOnDevice(world, c, 8, {.timeout = seconds(1)});
  });
  for (const int rank : {0, 1}) {
    EXPECT_THAT(messages[static_cast<size_t>(rank)],
                testing::MatchesRegex("AllReduce #1 f32.8. of NCCL did not finish within 1s on rank [01] on "
                                      "gpu01: waiting for rank 2 .gpu02., last seen in Start #0"));
  }
  for (const int rank : {0, 1, 2}) world.Leave(rank);
  EXPECT_EQ(world.fabric().living, 0);
  EXPECT_THAT(world.ended(), Each(""));
}

// While the call hangs, no operation before it is asked for: the ranks in it were shown in the one before.
TEST(NcclLaunch, ThatHangsNamesNoneOfTheRanksThatAreInIt) {
  NcclWorld world(socket::BlockLayout({2, 1}), kBare);
  const std::vector<std::string> messages = world.Messages([&](Communicator& c) -> Status {
    const OnDevice data(world.cuda(c.rank()), 8);
    MUSTER_CHECK(c.AllReduce(data.buffer(), data.buffer(), ReduceOp::kSum, {.stream = data.stream()}));
    if (c.rank() == 2) return c.Synchronize();
    {
      const std::lock_guard lock(world.fabric().mutex);
      world.fabric().never_connects.insert(c.rank());
    }
    return c.AllReduce(data.buffer(), data.buffer(), ReduceOp::kSum,
                       {.timeout = seconds(1), .stream = data.stream()});
  });
  for (const int rank : {0, 1}) {
    EXPECT_THAT(messages[static_cast<size_t>(rank)],
                testing::MatchesRegex("AllReduce #2 f32.8. of NCCL did not finish within 1s on rank [01] on "
                                      "gpu01: waiting for rank 2 .gpu02., last seen in AllReduce #1"));
  }
}

// CUDA may let no other thread proceed during a call of NCCL, on any communicator.
TEST(NcclLaunch, ThatHangsEndsWithoutAQueryOfAnotherCommunicator) {
  std::promise<void> open;
  NcclWorld world(socket::BlockLayout({2}), kBare);
  std::vector<std::unique_ptr<Communicator>> parts(2);
  world.Run([&](Communicator& c) {
    auto part = c.Split(0, 0);
    ASSERT_TRUE(part) << part.error().message;
    parts[static_cast<size_t>(c.rank())] = *std::move(part);
  });
  const OnDevice data(world.cuda(0), 8);
  const CallOptions options = {.timeout = seconds(1), .stream = data.stream()};
  const CallOptions patient = {.timeout = std::chrono::minutes(2), .stream = data.stream()};
  const Buffer buffer = data.buffer();
  ASSERT_EQ(socket::MessageOf(parts[0]->AllReduce(buffer, buffer, ReduceOp::kSum, patient)), "");
  {
    const std::lock_guard lock(world.fabric().mutex);
    world.fabric().never_connects.insert(0);
    // This rank is now in a call.
    world.fabric().waits_for_abort = [&] { world.cuda(0).BlockEvents(open.get_future().share()); };
  }
  std::thread last_resort([&] {
    pollfd failed{world.group(0).failure_fd(), POLLIN, 0};
    EXPECT_EQ(poll(&failed, 1, 20'000), 1) << "no deadline was kept";
    open.set_value();
  });
  const std::string message =
      socket::MessageOf(world.at(0).AllReduce(buffer, buffer, ReduceOp::kSum, options));
  EXPECT_THAT(message, testing::StartsWith("AllReduce #1 f32[8] of NCCL did not finish within 1s on rank 0"));
  last_resort.join();
  parts.clear();
}

// The part that was starting has no owner yet, and is aborted too.
TEST(NcclSplit, ThatDoesNotEndIsAbortedWithTheWhole) {
  NcclWorld world(socket::BlockLayout({2, 1}), kBare, TestSettings(),
                  [](FakeFabric& fabric) { fabric.never_splits = {1}; });
  const std::vector<std::string> messages = world.Messages([&](Communicator& c) -> Status {
    MUSTER_TRY(const auto part, c.Split(0, 0, {.timeout = milliseconds(500)}));
    return part->Barrier();
  });
  // Rank 1's own word, or that of who waited for it.
  EXPECT_EQ(world.state().failure()->code, Code::kDeadline);
  EXPECT_THAT(messages, Each(world.state().failure()->message));
  for (const int rank : {0, 1, 2}) world.Leave(rank);
  EXPECT_EQ(world.fabric().living, 0);
}

TEST(NcclDeadline, NamesWhoHasNotCome) {
  NcclWorld world(socket::BlockLayout({2, 2}), kBare);
  const std::vector<std::string> messages = world.Messages([&](Communicator& c) -> Status {
    MUSTER_CHECK(AllReduceOnDevice(world, c, 16));
    if (c.rank() == 2) return {};
    return AllReduceOnDevice(world, c, 8, {.timeout = seconds(2)});
  });
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(messages[static_cast<size_t>(rank)],
                testing::MatchesRegex("AllReduce #2 f32.8. of NCCL did not finish within 2s on rank [013] on "
                                      "gpu0[12]: waiting for rank 2 .gpu02., last seen in AllReduce #1"));
    EXPECT_EQ(messages[static_cast<size_t>(rank)], world.state().failure()->message);
  }
  EXPECT_EQ(world.state().failure()->code, Code::kDeadline);
}

TEST(NcclDeadline, NamesWhoIsInAnotherOperation) {
  NcclWorld world(socket::BlockLayout({2}), kBare);
  const std::vector<std::string> messages = world.Messages([&](Communicator& c) -> Status {
    if (c.rank() == 0) return AllReduceOnDevice(world, c, 8, {.timeout = seconds(2)});
    const OnDevice data(world.cuda(1), 8);
    MUSTER_CHECK(c.Broadcast(data.buffer(), 0, {.stream = data.stream()}));
    return c.Synchronize();
  });
  EXPECT_THAT(messages,
              Each("AllReduce #1 f32[8] of NCCL did not finish within 2s on rank 0 on gpu01: waiting "
                   "for rank 1 (gpu01), in Broadcast #1"));
}

TEST(NcclDeadline, OfARecvNamesNobodyElse) {
  NcclWorld world(socket::BlockLayout({2}), kBare);
  const OnDevice data(world.cuda(0), 4);
  EXPECT_EQ(
      socket::MessageOf(world.at(0).Recv(data.buffer(), 1, {.timeout = seconds(1), .stream = data.stream()})),
      "");
  EXPECT_EQ(socket::MessageOf(world.at(0).Synchronize()),
            "Recv #1 f32[4] of NCCL did not finish within 1s on rank 0 on gpu01");
}

// Of each operation; a short timeouts.collective ends none that was given longer.
TEST(NcclDeadline, IsTheCallsOwnWhereItHasOne) {
  NcclSettings settings = TestSettings();
  settings.timeouts.collective = milliseconds(1);
  settings.watchdog_grace = milliseconds(1);
  NcclWorld world(socket::BlockLayout({2}), kBare, settings);
  const OnDevice data(world.cuda(0), 8);
  const CallOptions patient = {.timeout = std::chrono::minutes(2), .stream = data.stream()};
  ASSERT_EQ(socket::MessageOf(world.at(0).AllReduce(data.buffer(), data.buffer(), ReduceOp::kSum, patient)),
            "");
  std::thread late([&] {
    // Long past what is configured, for the watchdog and for Synchronize.
    const Deadline passed = Deadline::After(milliseconds(200));
    while (!passed.Expired()) std::this_thread::yield();
    EXPECT_EQ(
        socket::MessageOf(AllReduceOnDevice(world, world.at(1), 8, {.timeout = std::chrono::minutes(2)})),
        "");
  });
  EXPECT_EQ(socket::MessageOf(world.at(0).Synchronize()), "");
  late.join();
}

TEST(NcclDeadline, IsTheEndOfTheJobThatBecomesKnownLater) {
  NcclSettings settings = TestSettings();
  settings.watchdog_grace = milliseconds(1);
  NcclWorld world(socket::BlockLayout({2}), kBare, settings);
  const OnDevice data(world.cuda(0), 4);
  world.group(0).set_latest(Deadline::After(milliseconds(500)));
  const CallOptions patient = {.timeout = std::chrono::minutes(2), .stream = data.stream()};
  const auto start = Clock::now();
  ASSERT_EQ(socket::MessageOf(world.at(0).Recv(data.buffer(), 1, patient)), "");
  const Status status = world.at(0).Synchronize({.timeout = std::chrono::minutes(2)});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kDeadline);
  EXPECT_LT(Clock::now() - start, std::chrono::minutes(1));
}

TEST(NcclSynchronize, TakesATimeoutOfItsOwn) {
  NcclWorld world(socket::BlockLayout({2}), kBare);
  const OnDevice data(world.cuda(0), 8);
  ASSERT_EQ(socket::MessageOf(world.at(0).AllReduce(data.buffer(), data.buffer(), ReduceOp::kSum,
                                                    {.stream = data.stream()})),
            "");
  EXPECT_EQ(socket::MessageOf(world.at(0).Synchronize({.timeout = Duration::zero()})),
            "Synchronize: the timeout must be more than 0");
  EXPECT_EQ(socket::MessageOf(world.at(0).Synchronize({.timeout = milliseconds(50)})),
            "Synchronize: work of NCCL was still under way after 50ms on rank 0 on gpu01");
}

// The process would end with 69; here it is asked why.
TEST(NcclAbort, ThatHangsEndsTheProcess) {
  NcclSettings settings = TestSettings();
  settings.abort_within = seconds(1);
  NcclWorld world(socket::BlockLayout({2}), kBare, settings);
  {
    const std::lock_guard lock(world.fabric().mutex);
    world.fabric().hangs_in_abort.insert(1);
  }
  world.state().Fail({Code::kPeerLost, "rank 0 on gpu01 was killed by signal 9", ""});
  EXPECT_THAT(world.Messages([](Communicator& c) { return c.Barrier(); }),
              Each("rank 0 on gpu01 was killed by signal 9"));
  for (const int rank : {0, 1}) world.Leave(rank);
  EXPECT_EQ(world.ended()[0], "");
  EXPECT_EQ(world.ended()[1],
            "NCCL did not return from an abort within 1s, so this process ends; why it was aborted: "
            "rank 0 on "
            "gpu01 was killed by signal 9");
}

// No call of CUDA comes before the end: it may hang as well.
TEST(NcclAbort, ThatHangsInTheDriverEndsTheProcess) {
  NcclSettings settings = TestSettings();
  settings.abort_within = milliseconds(100);
  NcclWorld world(socket::BlockLayout({2}), kBare, settings);
  EXPECT_THAT(world.Messages([&](Communicator& c) { return AllReduceOnDevice(world, c, 8); }), Each(""));
  std::promise<void> open;
  world.cuda(1).BlockEvents(open.get_future().share());
  {
    const std::lock_guard lock(world.fabric().mutex);
    world.fabric().hangs_in_abort.insert(1);
  }
  world.state().Fail({Code::kPeerLost, "rank 0 on gpu01 was killed by signal 9", ""});
  const Deadline limit = Deadline::After(seconds(20));
  while (world.ended()[1].empty() && !limit.Expired()) std::this_thread::yield();
  EXPECT_THAT(world.ended()[1], testing::StartsWith("NCCL did not return from an abort within 100ms"));
  open.set_value();
}

TEST(NcclAbortDeathTest, EndsTheProcessWith69) {
  EXPECT_EXIT(EndProcess({Code::kPeerLost, "NCCL did not come back", ""}), testing::ExitedWithCode(69),
              "NCCL did not come back");
}

TEST(NcclTeardown, FinalizesThenDestroys) {
  NcclWorld world(socket::BlockLayout({2}), kBare);
  EXPECT_THAT(world.Messages([&](Communicator& c) { return AllReduceOnDevice(world, c, 100); }), Each(""));
  for (const int rank : {0, 1}) world.Leave(rank);
  EXPECT_EQ(world.fabric().order, (std::vector<std::string>{"finalize", "destroy"}));
  EXPECT_EQ(world.fabric().living, 0);
  for (const int rank : {0, 1}) EXPECT_EQ(world.cuda(rank).events(), 0);
}

TEST(NcclTeardown, WaitsForWhatIsUnderWay) {
  NcclWorld world(socket::BlockLayout({2}), kBare);
  const OnDevice mine(world.cuda(0), 8);
  const OnDevice theirs(world.cuda(1), 8);
  ASSERT_EQ(socket::MessageOf(world.at(0).AllReduce(mine.buffer(), mine.buffer(), ReduceOp::kSum,
                                                    {.stream = mine.stream()})),
            "");
  std::thread leaver([&] { world.Leave(0); });
  EXPECT_EQ(socket::MessageOf(world.at(1).AllReduce(theirs.buffer(), theirs.buffer(), ReduceOp::kSum,
                                                    {.stream = theirs.stream()})),
            "");
  leaver.join();
  EXPECT_EQ(mine.first(), 2);
  EXPECT_EQ(world.fabric().order, (std::vector<std::string>{"finalize", "destroy"}));
}

TEST(NcclTeardown, AbortsWhatDoesNotEndInTime) {
  NcclSettings settings = TestSettings();
  settings.timeouts.shutdown = milliseconds(100);
  NcclWorld world(socket::BlockLayout({2}), kBare, settings);
  const OnDevice data(world.cuda(0), 8);
  ASSERT_EQ(socket::MessageOf(world.at(0).AllReduce(data.buffer(), data.buffer(), ReduceOp::kSum,
                                                    {.stream = data.stream()})),
            "");
  world.Leave(0);
  EXPECT_EQ(world.fabric().order, (std::vector<std::string>{"finalize", "abort"}));
  EXPECT_THAT(world.ended(), Each(""));
}

TEST(NcclFork, IsRefusedInTheChild) {
  NcclWorld world(socket::BlockLayout({2}), kBare);
  const pid_t child = fork();
  if (child == 0) {
    const Status barrier = world.at(0).Barrier();
    world.Leave(0);
    const bool refused =
        !barrier && barrier.error().code == Code::kUsage &&
        barrier.error().message.starts_with("in a forked child: its communicator belongs to");
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_THAT(world.Messages([&](Communicator& c) { return AllReduceOnDevice(world, c, 8); }), Each(""));
}

// NCCL's groups belong to a thread: one that was left open would swallow all that this thread does later.
TEST(NcclGroups, ThatAnAbortComesIntoLeaveTheThreadFit) {
  {
    NcclWorld world(socket::BlockLayout({2}), kBare);
    const OnDevice data(world.cuda(0), 8);
    ASSERT_EQ(socket::MessageOf(world.at(0).BeginGroup()), "");
    EXPECT_EQ(socket::MessageOf(world.at(0).Send(data.buffer(), 1, {.stream = data.stream()})), "");
    world.state().Fail({Code::kPeerLost, "rank 1 on gpu01 was killed by signal 9", ""});
    world.Leave(1);
    for (size_t aborted = 0; aborted < 2; std::this_thread::yield()) {
      const std::lock_guard lock(world.fabric().mutex);
      aborted = world.fabric().aborted_together.size();
    }
    EXPECT_EQ(socket::MessageOf(world.at(0).EndGroup()), "rank 1 on gpu01 was killed by signal 9");
  }
  NcclWorld world(socket::BlockLayout({2}), kBare);
  std::thread other([&] { EXPECT_EQ(socket::MessageOf(AllReduceOnDevice(world, world.at(1), 8)), ""); });
  EXPECT_EQ(socket::MessageOf(AllReduceOnDevice(world, world.at(0), 8)), "");
  other.join();
}

TEST(NcclGroups, LetARingOfSendsAndRecvsPass) {
  NcclWorld world(socket::BlockLayout({2, 1}), kBare);
  world.Run([&](Communicator& c) {
    ComputingCuda& cuda = world.cuda(c.rank());
    const OnDevice mine(cuda, 1000);
    const OnDevice theirs(cuda, 1000);
    std::fill_n(static_cast<float*>(mine.buffer().data), 1000, static_cast<float>(c.rank()));
    const int next = (c.rank() + 1) % c.size();
    const int previous = (c.rank() + c.size() - 1) % c.size();
    EXPECT_EQ(socket::MessageOf(c.BeginGroup()), "");
    EXPECT_EQ(c.BeginGroup().error().message, "BeginGroup: a group has begun already");
    EXPECT_EQ(socket::MessageOf(c.Send(mine.buffer(), next, {.stream = mine.stream()})), "");
    EXPECT_EQ(socket::MessageOf(c.Recv(theirs.buffer(), previous, {.stream = mine.stream()})), "");
    EXPECT_EQ(c.Split(0, 0).error().message, "Split: not between BeginGroup and EndGroup");
    EXPECT_EQ(socket::MessageOf(c.EndGroup()), "");
    EXPECT_EQ(c.EndGroup().error().message, "EndGroup: no group has begun in this thread");
    EXPECT_EQ(socket::MessageOf(c.Synchronize()), "");
    EXPECT_EQ(theirs.first(), static_cast<float>(previous));
  });
}

}  // namespace
}  // namespace muster::nccl
