#include "bootstrap/store/store_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/other_user.h"
#include "tests/comm/net/own_network.h"
#include "tests/comm/rendezvous/tcp_store/server_peer.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::store {
namespace {

// Its process has links to leaders and own ranks, not to all ranks.
TEST(MostClients, LeavesRoomForTheLinksOfTheProcess) {
  EXPECT_EQ(MostClients(4096, 250, 8), 4096U - 64 - 250 - 8);
  EXPECT_EQ(MostClients(1024, 32, 64), 1024U - 64 - 32 - 64);
  EXPECT_EQ(MostClients(1024, 1000, 2), 512U);
}

// The store of a group of one rank, at 127.0.0.1. No owner of a connection is to be determined.
class StoreKeeperTest : public testing::Test {
 protected:
  void Start() {
    StartWith({"a"}, [](const rendezvous::OwnerQuestion&) {
      ADD_FAILURE() << "it has not begun as a client does";
      return rendezvous::OwnerAnswer{};
    });
  }
  void StartWith(const std::vector<std::string>& node_of_rank, const rendezvous::OwnerInquiry::Look& look) {
    group.emplace(loop, node_of_rank);
    ASSERT_TRUE(group->AllFormed());
    auto port = StorePort::Hold({.ports = {61000, 64999}, .only_this_node = true});
    ASSERT_TRUE(port);
    address = *net::SocketAddress::FromNumeric("127.0.0.1", port->port());
    auto started = StoreKeeper::Start(
        {*loop, (*group)[0].plane(), look, "127.0.0.1", getuid(), std::chrono::milliseconds(1)},
        *std::move(port));
    ASSERT_TRUE(started) << started.error().message;
    keeper = *std::move(started);
  }
  void ExpectLine(const std::string& pattern) {
    ASSERT_TRUE(tcp_store::Until(loop, [&] { return log.Has("\n"); }));
    EXPECT_THAT(log.Text(), testing::MatchesRegex(
                                "muster: warning: store 127\\.0\\.0\\.1:[0-9]+: closed the connection from " +
                                pattern + "\n"));
  }

  const LogCapture log;
  net::TestLoop loop;
  std::optional<rendezvous::TestGroup> group;
  net::SocketAddress address;
  std::unique_ptr<StoreKeeper> keeper;
};

// A blocking socket, connected from that address of this node.
UniqueFd ConnectFrom(const char* host, const net::SocketAddress& address) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto from = *net::SocketAddress::FromNumeric(host, 0);
  EXPECT_EQ(bind(fd.get(), from.get(), from.length()), 0);
  EXPECT_EQ(connect(fd.get(), address.get(), address.length()), 0);
  return fd;
}

TEST_F(StoreKeeperTest, AnAddressOutsideTheGroupIsClosedBeforeItSendsAnything) {
  if (getuid() != 0) GTEST_SKIP() << "needs root: a network namespace";
  // Also takes 192.0.2.0/24. No interface lists these addresses.
  const net::OwnNetwork network("ip route add local 192.0.2.0/24 dev lo");
  ASSERT_TRUE(network.made());
  Start();
  const UniqueFd stranger = ConnectFrom("192.0.2.7", address);
  char byte = 0;
  ASSERT_TRUE(tcp_store::Until(loop, [&] {
    return recv(stranger.get(), &byte, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EINTR);
  }));
  ExpectLine("192\\.0\\.2\\.7:[0-9]+: no node of the group has its address");
  keeper.reset();
}

TEST_F(StoreKeeperTest, AnotherUserOfThisNodeIsClosedBeforeItSendsAnything) {
  if (getuid() != 0) GTEST_SKIP() << "needs root: to be another user";
  Start();
  const net::OtherProcess stranger(
      [this] {
        static UniqueFd connection;
        connection = ConnectFrom("127.0.0.1", address);
        return true;
      },
      net::OtherProcess::kNoOwner);
  ASSERT_TRUE(stranger.acted());
  ExpectLine("127\\.0\\.0\\.1:[0-9]+: it belongs to another user, uid 65534");
}

// PyTorch before 2.2 begins with its first request.
TEST_F(StoreKeeperTest, AnOlderClientsUserIsToldWhatToDo) {
  Start();
  tcp_store::Peer old(loop, address);
  old.Send(tcp_store::Text(std::string("\x03\x05\0\0\0\0\0\0\0init/\x01\0\0\0\0\0\0\0", 22)));
  old.ExpectClosed();
  ExpectLine(
      "127\\.0\\.0\\.1:[0-9]+: it does not begin as a client of PyTorch 2\\.2 or later does; a program with "
      "PyTorch "
      "before 2\\.2 needs its own store: set run\\.store=program");
}

// Rank 0 runs a program more than rank 1: each waits for the other, with keys of its own.
TEST_F(StoreKeeperTest, AnUnequalNumberOfProgramsIsReportedOnce) {
  uint32_t generation = 1;
  StartWith({"a", "a"}, [&](const rendezvous::OwnerQuestion&) {
    return rendezvous::OwnerAnswer{0, rendezvous::OwnerKind::kProgram, getuid(), 0, generation};
  });
  for (; generation < 3; ++generation) {
    tcp_store::Peer client(loop, address);
    client.Validate();
    client.Send({tcp_store::Operation::kNumKeys, {}});
    client.ExpectNumber(0);
    ASSERT_TRUE(tcp_store::Until(
        loop, [&] { return log.Has("rank 0 is at program 2 that uses the store, rank 1 at program 1"); }));
  }
  const std::string text = log.Text();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

TEST_F(StoreKeeperTest, AnUnequalNumberOfProgramsIsReportedAgainAfterItWasEqual) {
  struct Use {
    int rank;
    uint32_t generation;
    int lines;
  };
  Use use{};
  StartWith({"a", "a"}, [&](const rendezvous::OwnerQuestion&) {
    return rendezvous::OwnerAnswer{0, rendezvous::OwnerKind::kProgram, getuid(), use.rank, use.generation};
  });
  for (const Use& next : {Use{0, 1, 1}, Use{1, 1, 1}, Use{0, 2, 2}}) {
    use = next;
    tcp_store::Peer client(loop, address);
    client.Validate();
    client.Send({tcp_store::Operation::kNumKeys, {}});
    client.ExpectNumber(0);
    const auto lines = [this] {
      const std::string text = log.Text();
      return std::ranges::count(text, '\n');
    };
    ASSERT_TRUE(tcp_store::Until(loop, [&] { return lines() == use.lines; }));
  }
  EXPECT_TRUE(log.Has("rank 0 is at program 3 that uses the store, rank 1 at program 2"));
}

}  // namespace
}  // namespace muster::store
