// A node whose ranks are in containers: network namespaces of their own, or other directories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "comm/log/log.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/socket/fake_group.h"

namespace muster::socket {
namespace {

using testing::HasSubstr;
using testing::Not;

class DividedNodeTest : public testing::Test {
 protected:
  static void ExpectSums(FakeWorld& world) {
    const auto messages = world.Messages([&](Communicator& c) -> Status {
      for (int call = 0; call < 5; ++call) {
        const int32_t mine = c.rank();
        int32_t sum = 0;
        MUSTER_CHECK(c.AllReduce(HostBuffer(std::span<const int32_t>(&mine, 1)),
                                 HostBuffer(std::span<int32_t>(&sum, 1)), ReduceOp::kSum));
        if (sum != c.size() * (c.size() - 1) / 2) return Fail(Code::kInternal, "the sum is {}", sum);
      }
      return {};
    });
    EXPECT_THAT(messages, testing::Each(""));
  }
  // No port leads anywhere: ranks connect by a path.
  static void InNetworkNamespacesOfTheirOwn(int rank, EndpointAddress& address) {
    address.port = 1;
    address.network_namespace = 100 + static_cast<uint32_t>(rank);
  }

  net::TestBase shared;
  net::TestBase first;
  net::TestBase second;
};

TEST_F(DividedNodeTest, RanksInDifferentNetworkNamespacesMeetInADirectory) {
  const LogCapture log(LogLevel::kDebug);
  {
    FakeWorld world(MakeRoster(BlockLayout({3})), TestOptions(), InNetworkNamespacesOfTheirOwn,
                    {3, {shared.path}});
    ExpectSums(world);
  }
  EXPECT_THAT(log.Text(), HasSubstr("shared-memory"));
  EXPECT_TRUE(std::filesystem::is_empty(shared.path));
}

TEST_F(DividedNodeTest, RanksWithADirectoryOfTheirOwnMeetInTheOneThatTheyShare) {
  for (const bool apart : {false, true}) {
    const LogCapture log(LogLevel::kDebug);
    {
      FakeWorld world(
          MakeRoster(BlockLayout({3, 1})), TestOptions(),
          apart ? InNetworkNamespacesOfTheirOwn : FakeWorld::Tamper(),
          {{first.path, shared.path}, {second.path, shared.path}, {first.path, shared.path}, {first.path}});
      if (!apart) ExpectSums(world);
    }
    EXPECT_THAT(log.Text(), Not(HasSubstr("no shared memory")));
    EXPECT_TRUE(std::filesystem::is_empty(shared.path));
  }
}

TEST_F(DividedNodeTest, RanksThatShareNoDirectoryUseTcp) {
  const LogCapture log;
  FakeWorld world(MakeRoster(BlockLayout({2})), TestOptions(), nullptr, {{first.path}, {second.path}});
  ExpectSums(world);
  EXPECT_THAT(
      log.Text(),
      HasSubstr("no shared memory inside this node, Unix sockets instead: rank 1: it is connected by TCP\n"));
}

TEST_F(DividedNodeTest, WithoutADirectoryTheReasonIsNamed) {
  const Roster roster = MakeRoster(BlockLayout({2}));
  FakeGroupState state(roster);
  FakeGroup group(state, 0);
  auto endpoint = *SocketEndpoint::Open({.tcp = true, .bases = {"/proc/none"}});
  PeerAddresses addresses(2);
  addresses.Set(0, ViewOf({"name", 1, 100}));
  addresses.Set(1, ViewOf({"name", 1, 101}));
  const auto communicator =
      MakeSocketCommunicator(group, std::move(endpoint), std::move(addresses), TestOptions());
  ASSERT_FALSE(communicator);
  EXPECT_EQ(communicator.error().message,
            "the ranks of this node are in different network namespaces, and cannot meet: no directory "
            "for a socket of this user: /proc/none: No such file or directory");
}

}  // namespace
}  // namespace muster::socket
