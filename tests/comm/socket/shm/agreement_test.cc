// When memory is shared, and that a group works without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/socket/fake_group.h"

namespace muster::socket {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

size_t MappedSegments() {
  std::ifstream maps("/proc/self/maps");
  size_t found = 0;
  for (std::string line; std::getline(maps, line);) found += line.find("memfd:muster") != std::string::npos;
  return found;
}

void AddUp(FakeWorld& world, size_t count) {
  world.Run([&](Communicator& c) {
    std::vector<int32_t> data(count, c.rank());
    ASSERT_EQ(MessageOf(c.AllReduce(std::span(data), ReduceOp::kSum)), "");
    EXPECT_EQ(data, std::vector<int32_t>(count, c.size() * (c.size() - 1) / 2));
  });
}

TEST(Agreement, ComesWithTheThirdCallOrTheFirstLongOne) {
  FakeWorld calls(BlockLayout({3}));
  AddUp(calls, 1);
  AddUp(calls, 1);
  EXPECT_EQ(MappedSegments(), 0U);
  AddUp(calls, 1);
  EXPECT_EQ(MappedSegments(), 3U);
  FakeWorld length(BlockLayout({2, 1}));
  AddUp(length, 100'000);
  EXPECT_EQ(MappedSegments(), 5U) << "a rank alone on its node needs none";
}

TEST(Agreement, LeavesNothingBehind) {
  const size_t descriptors = OpenDescriptors();
  {
    FakeWorld world(BlockLayout({4, 2}));
    AddUp(world, 100'000);
    EXPECT_EQ(MappedSegments(), 6U);
  }
  EXPECT_EQ(MappedSegments(), 0U);
  EXPECT_EQ(OpenDescriptors(), descriptors);
}

TEST(Agreement, IsNotSoughtWhereItIsOffOrWouldBeOfNoUse) {
  SocketOptions off = TestOptions();
  off.shared_memory = false;
  FakeWorld without(BlockLayout({3}), off);
  FakeWorld alone(BlockLayout({1, 1, 1}));
  for (int i = 0; i < 4; ++i) {
    AddUp(without, 100'000);
    AddUp(alone, 100'000);
  }
  EXPECT_EQ(MappedSegments(), 0U);
}

TEST(Agreement, IsToDoWithoutWhereOneRankIsConnectedByTcp) {
  // As in a container that shares no directory with the others.
  const LogCapture log(LogLevel::kDebug);
  FakeWorld world(MakeRoster(BlockLayout({3, 2})), TestOptions(), [](int rank, EndpointAddress& address) {
    if (rank == 0) address.unix_name.clear();
  });
  for (int i = 0; i < 3; ++i) AddUp(world, 100'000);
  EXPECT_EQ(MappedSegments(), 0U);
  EXPECT_THAT(log.Text(),
              HasSubstr("muster: no shared memory inside this node, Unix sockets instead: rank 1: it is "
                        "connected by TCP\n"));
  EXPECT_THAT(log.Text(), HasSubstr("5 ranks, 2 nodes: ring\n"));
  EXPECT_THAT(log.Text(), Not(HasSubstr("shared-memory")));
}

TEST(Agreement, IsLoggedAsTheChoice) {
  const LogCapture log(LogLevel::kDebug);
  FakeWorld world(BlockLayout({2, 1}));
  AddUp(world, 100'000);
  AddUp(world, 1);
  FakeWorld single(BlockLayout({2}));
  AddUp(single, 100'000);
  EXPECT_EQ(log.Text(),
            "muster: debug: AllReduce i32[100000] (390.6 KiB) on 3 ranks, 2 nodes: shared-memory-streams\n"
            "muster: debug: AllReduce i32[1] (4 B) on 3 ranks, 2 nodes: shared-memory-tree\n"
            "muster: debug: AllReduce i32[100000] (390.6 KiB) on 2 ranks, 1 node: shared-memory\n");
}

}  // namespace
}  // namespace muster::socket
