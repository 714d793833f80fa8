// Shared memory between processes: what threads, which share everything anyway, could hide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <set>
#include <tuple>

#include "tests/comm/socket/reference.h"
#include "tests/comm/socket/shm/process_world.h"

namespace muster::socket {
namespace {

using testing::Each;

SocketOptions Sharing() {
  SocketOptions options = SharingOptions();
  options.cause_grace = std::chrono::milliseconds(20);
  return options;
}

std::string AddUp(Communicator& c, size_t count) {
  std::vector<int32_t> data(count, c.rank());
  const Status status = c.AllReduce(std::span(data), ReduceOp::kSum);
  if (!status) return MessageOf(status);
  const bool right = data == std::vector<int32_t>(count, c.size() * (c.size() - 1) / 2);
  return right ? "" : "a wrong sum";
}

// Without the directories of sockets, which are those of other tests as well.
std::set<std::string> NamesInMemory() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (!entry.path().filename().string().starts_with("muster-")) names.insert(entry.path());
  }
  return names;
}

std::string ReduceEverything(Communicator& c) {
  uint64_t seed = 1;
  for (const DataType type : kAllTypes) {
    for (const ReduceOp operation : kAllOps) {
      for (const size_t count : {1, 9, 2000, 9000}) {
        const Bytes expected = ReducedElements(type, operation, ++seed, c.size(), count);
        Bytes send = ElementsOf(type, operation, seed, c.rank(), count);
        Bytes receive(send.size());
        const Status status =
            c.AllReduce({send.data(), count, type}, {receive.data(), count, type}, operation);
        if (!status) return MessageOf(status);
        if (receive != expected) return std::string(Name(type)) + " is wrong";
      }
    }
  }
  return "";
}

TEST(Processes, ReduceEveryTypeRight) {
  for (const std::vector<int>& layout : {BlockLayout({2}), BlockLayout({3, 1})}) {
    ProcessWorld world(layout);
    EXPECT_THAT(world.Run(Sharing(), ReduceEverything), Each(""));
  }
}

TEST(Processes, MoveWhatTheyShouldOnMoreRanksThanProcessors) {
  ProcessWorld world(BlockLayout({17}));
  EXPECT_THAT(world.Run(Sharing(),
                        [](Communicator& c) -> std::string {
                          for (int i = 0; i < 200; ++i) {
                            if (std::string wrong = AddUp(c, i % 10 == 0 ? 20'000 : 3); !wrong.empty())
                              return wrong;
                          }
                          std::vector<int32_t> all(17 * 100);
                          std::vector<int32_t> mine(100, c.rank());
                          const Status status =
                              c.AllGather(HostBuffer(std::span(mine)), HostBuffer(std::span(all)));
                          if (!status) return MessageOf(status);
                          for (size_t i = 0; i < all.size(); ++i) {
                            if (all[i] != static_cast<int32_t>(i / 100)) return "a wrong block";
                          }
                          return "";
                        }),
              Each(""));
}

TEST(Processes, LeaveNoNames) {
  const std::set<std::string> before = NamesInMemory();
  ProcessWorld world(BlockLayout({3}));
  EXPECT_THAT(world.Run(Sharing(),
                        [&](Communicator& c) -> std::string {
                          if (std::string wrong = AddUp(c, 100'000); !wrong.empty()) return wrong;
                          return NamesInMemory() == before ? "" : "a name while it runs";
                        }),
              Each(""));
  EXPECT_EQ(NamesInMemory(), before);
}

TEST(Processes, DoWithoutWhereTheFirstMayNotMakeAFile) {
  ProcessWorld world(BlockLayout({3}));
  world.Start(
      Sharing(), [](Communicator& c) { return AddUp(c, 100'000); },
      [] {
        const rlimit limit{4096, 4096};
        setrlimit(RLIMIT_FSIZE, &limit);
      });
  EXPECT_THAT(world.Results(), Each(""));
}

// In short calls and in the middle of long ones; the first rank of the node and others.
class KilledProcess : public testing::TestWithParam<std::tuple<int, size_t>> {};

TEST_P(KilledProcess, IsNamedByAllOthers) {
  const auto [victim, count] = GetParam();
  ProcessWorld world(BlockLayout({3}));
  world.Start(Sharing(), [victim = victim, count = count](Communicator& c) {
    std::string wrong;
    for (int call = 1; wrong.empty(); ++call) {
      if (c.rank() == victim && call == 5) raise(SIGKILL);
      wrong = AddUp(c, count);
    }
    return wrong;
  });
  const std::vector<std::string> results = world.Results();
  for (int rank = 0; rank < 3; ++rank) {
    if (rank == victim) continue;
    EXPECT_EQ(results[static_cast<size_t>(rank)],
              "rank " + std::to_string(victim) + " on gpu01 closed its connection during AllReduce #5 i32[" +
                  std::to_string(count) + "]");
  }
}
INSTANTIATE_TEST_SUITE_P(Everywhere, KilledProcess,
                         testing::Combine(testing::Values(0, 1, 2), testing::Values(1, 300'000)));

TEST(Processes, EndWhenOneIsKilledAtAnyMoment) {
  for (int round = 0; round < 5; ++round) {
    ProcessWorld world(BlockLayout({2}));
    std::array<int, 2> ready{};
    ASSERT_EQ(pipe(ready.data()), 0);
    world.Start(Sharing(), [&](Communicator& c) {
      std::string wrong;
      for (int call = 0; wrong.empty(); ++call) {
        if (c.rank() == 1 && call == 20 * round + 3 && write(ready[1], "x", 1) != 1)
          return std::string("no pipe");
        wrong = AddUp(c, 50'000);
      }
      return wrong;
    });
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    world.Kill(1);
    EXPECT_THAT(world.Results()[0],
                testing::StartsWith("rank 1 on gpu01 closed its connection during AllReduce"));
    close(ready[0]);
    close(ready[1]);
  }
}

}  // namespace
}  // namespace muster::socket
