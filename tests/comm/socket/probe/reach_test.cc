#include "comm/socket/probe/reach.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "comm/net/socket.h"
#include "comm/system/directory_reader.h"
#include "tests/comm/net/own_network.h"
#include "tests/comm/socket/fake_group.h"

namespace muster::socket {
namespace {

// One rank on each of several nodes, all on 127.0.0.1.
class Reach : public testing::Test {
 protected:
  static constexpr int kRanks = 4;

  void SetUp() override {
    for (int rank = 0; rank < kRanks; ++rank) {
      endpoints_.push_back(SocketEndpoint::Open().value());
      addresses_.push_back(endpoints_.back()->address());
    }
  }

  std::vector<ReachPeer> PeersOf(int rank) const {
    std::vector<ReachPeer> peers;
    for (int other = 0; other < kRanks; ++other) {
      if (other != rank) peers.push_back({other, addresses_[static_cast<size_t>(other)], true});
    }
    return peers;
  }

  // By rank, in the order of PeersOf.
  std::vector<Result<std::vector<Reached>>> ReachAllRanks() {
    std::vector<Result<std::vector<Reached>>> results(kRanks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([this, rank, &results] {
        FakeGroup group(state_, rank);
        results[static_cast<size_t>(rank)] =
            ReachAll(group, *endpoints_[static_cast<size_t>(rank)], PeersOf(rank), options_);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  FakeGroupState state_{MakeRoster({0, 1, 2, 3})};
  std::vector<std::unique_ptr<SocketEndpoint>> endpoints_;
  std::vector<EndpointAddress> addresses_;
  ReachOptions options_;
};

TEST_F(Reach, ConnectsEveryPairBothWays) {
  options_.connect = std::chrono::minutes(1);
  for (const auto& reached : ReachAllRanks()) {
    ASSERT_TRUE(reached);
    ASSERT_EQ(reached->size(), static_cast<size_t>(kRanks - 1));
    for (const Reached& one : *reached) {
      EXPECT_EQ(one.failure, "");
      EXPECT_TRUE(one.arrived);
      EXPECT_TRUE(one.link);
    }
  }
}

TEST_F(Reach, ConnectsOneAfterAnotherWhereOnlyOneAtATimeIsAllowed) {
  options_.connect = std::chrono::minutes(1);
  options_.at_once = 1;
  for (const auto& reached : ReachAllRanks()) {
    ASSERT_TRUE(reached);
    for (const Reached& one : *reached) EXPECT_EQ(one.failure, "");
  }
}

TEST_F(Reach, APairThatCannotConnectIsNoFailureOfTheOthers) {
  options_.connect = std::chrono::milliseconds(200);
  // No process listens at the address that rank 3 reports.
  addresses_[3].port = SocketEndpoint::Open().value()->address().port;
  const auto results = ReachAllRanks();
  for (size_t rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(results[rank]);
    const std::vector<Reached>& reached = *results[rank];
    EXPECT_EQ(reached[0].failure, "");
    EXPECT_EQ(reached[1].failure, "");
    EXPECT_EQ(reached[2].failure, fmt::format("127.0.0.1:{}: Connection refused", addresses_[3].port));
    EXPECT_TRUE(reached[2].arrived);
  }
  ASSERT_TRUE(results[3]);
  for (const Reached& one : *results[3]) {
    EXPECT_EQ(one.failure, "");
    EXPECT_FALSE(one.arrived);
  }
  EXPECT_FALSE(state_.failure());
}

// Of this process.
size_t ConnectionsAt(uint16_t port) {
  size_t found = 0;
  for (const std::string& fd : NamesIn("/proc/self/fd")) {
    sockaddr_in local{};
    sockaddr_in remote{};
    socklen_t length = sizeof local;
    const int number = std::stoi(fd);
    if (getsockname(number, reinterpret_cast<sockaddr*>(&local), &length) != 0) continue;
    length = sizeof remote;
    if (getpeername(number, reinterpret_cast<sockaddr*>(&remote), &length) != 0) continue;
    if (local.sin_family != AF_UNIX && ntohs(local.sin_port) == port) ++found;
  }
  return found;
}

TEST_F(Reach, SilentConnectionsAreAtMostThoseOfAListener) {
  const auto address = *net::SocketAddress::FromNumeric("127.0.0.1", addresses_[0].port);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(*net::StartConnect(address));
  options_.connect = std::chrono::seconds(1);
  size_t most = 0;
  options_.progress = [&](const std::vector<int>&) {
    most = std::max(most, ConnectionsAt(addresses_[0].port));
  };
  FakeGroup group(state_, 0);
  EXPECT_TRUE(ReachAll(group, *endpoints_[0], PeersOf(0), options_));
  EXPECT_GT(most, 0U);
  EXPECT_LE(most, 128U);
}

TEST_F(Reach, EndsWithTheGroup) {
  options_.connect = std::chrono::minutes(1);
  const Error lost{Code::kPeerLost, "rank 2 on gpu03 is gone", ""};
  state_.Fail(lost);
  for (const auto& reached : ReachAllRanks()) {
    ASSERT_FALSE(reached);
    EXPECT_EQ(reached.error(), lost);
  }
}

// Each node names the interface in its own way.
TEST_F(Reach, ALinkLocalAddressOfAnotherNodeIsFoundOnTheInterfaceOfThisOne) {
  if (getuid() != 0) GTEST_SKIP() << "needs root: a network namespace";
  const net::OwnNetwork network(
      "ip link add e0 type veth peer name x0; ip link set e0 up; ip link set x0 up;"
      "ip addr add fe80::1/64 dev e0 nodad");
  ASSERT_TRUE(network.made());
  options_.connect = std::chrono::seconds(20);
  std::vector<std::unique_ptr<SocketEndpoint>> endpoints;
  for (int rank = 0; rank < 2; ++rank) endpoints.push_back(SocketEndpoint::Open().value());
  std::vector<Result<std::vector<Reached>>> results(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Roster roster = MakeRoster({0, 1});
      std::vector<Roster::Node> nodes = {{"gpu01", {"fe80::1%ib9"}}, {"gpu02", {"fe80::1%ib9"}}};
      nodes[static_cast<size_t>(rank)].addresses = {"fe80::1%e0"};
      roster.nodes = nodes;
      FakeGroupState state(roster);
      FakeGroup group(state, rank);
      const int peer = 1 - rank;
      results[static_cast<size_t>(rank)] =
          ReachAll(group, *endpoints[static_cast<size_t>(rank)],
                   {{peer, endpoints[static_cast<size_t>(peer)]->address(), true}}, options_);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& reached : results) {
    ASSERT_TRUE(reached);
    EXPECT_EQ(reached->front().failure, "");
  }
}

}  // namespace
}  // namespace muster::socket
