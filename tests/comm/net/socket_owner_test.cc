#include "comm/net/socket_owner.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/comm/base/print_error.h"
#include "tests/comm/net/own_network.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/net/test_loop.h"

namespace muster::net {
namespace {

SocketAddress Address(const char* host, uint16_t port) { return *SocketAddress::FromNumeric(host, port); }

uint64_t InodeOf(int fd) {
  struct stat status {};
  EXPECT_EQ(fstat(fd, &status), 0);
  return status.st_ino;
}

struct Connection {
  UniqueFd listener;
  UniqueFd client;
  UniqueFd server;
};

Connection Connect(const char* host) {
  Connection connection;
  connection.listener = *Listen(Address(host, 0));
  connection.client = *StartConnect(LocalAddress(connection.listener.get()));
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  while (!connection.server && !deadline.Expired()) {
    connection.server = *Accept(connection.listener.get());
  }
  EXPECT_TRUE(connection.server);
  return connection;
}

std::string Text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SocketOwnerTest : public testing::TestWithParam<const char*> {};

TEST_P(SocketOwnerTest, BothEndsAreFound) {
  const Connection connection = Connect(GetParam());
  for (const int fd : {connection.client.get(), connection.server.get()}) {
    const auto owner = OwnerOfConnection(LocalAddress(fd), PeerAddress(fd));
    ASSERT_TRUE(owner);
    EXPECT_EQ(*owner, (SocketOwner{geteuid(), InodeOf(fd)}));
  }
}

// Its sockets are bound to an interface, which another node names differently.
TEST(SocketOwner, OfALinkLocalConnectionIsFoundWithoutItsInterface) {
  if (getuid() != 0) GTEST_SKIP() << "needs root: a network namespace";
  const OwnNetwork network(
      "ip link add e0 type veth peer name x0; ip link set e0 up; ip link set x0 up;"
      "ip addr add fe80::1/64 dev e0 nodad");
  ASSERT_TRUE(network.made());
  const Connection connection = Connect("fe80::1%e0");
  const int fd = connection.client.get();
  const SocketOwner expected{geteuid(), InodeOf(fd)};
  EXPECT_EQ(*OwnerOfConnection(LocalAddress(fd), PeerAddress(fd)), expected);
  const std::string host = WithoutInterface(LocalAddress(fd).Host());
  EXPECT_EQ(host, "fe80::1");
  EXPECT_EQ(*OwnerOfConnection(Address(host.c_str(), LocalAddress(fd).port()),
                               Address(host.c_str(), PeerAddress(fd).port())),
            expected);
}

TEST_P(SocketOwnerTest, TheFilesOfProcSayTheSame) {
  const Connection connection = Connect(GetParam());
  const int fd = connection.client.get();
  const bool ipv6 = LocalAddress(fd).family() == AF_INET6;
  const auto owner =
      FindInProcNet(Text(ipv6 ? "/proc/net/tcp6" : "/proc/net/tcp"), LocalAddress(fd), PeerAddress(fd));
  EXPECT_EQ(owner, (SocketOwner{geteuid(), InodeOf(fd)}));
}

TEST_P(SocketOwnerTest, AListenerIsNoConnection) {
  const Connection connection = Connect(GetParam());
  const SocketAddress listener = LocalAddress(connection.listener.get());
  const auto owner = OwnerOfConnection(listener, Address(GetParam(), 1));
  ASSERT_TRUE(owner);
  EXPECT_EQ(*owner, std::nullopt);
}

TEST_P(SocketOwnerTest, WhatIsClosedIsNobodys) {
  Connection connection = Connect(GetParam());
  const SocketAddress client = LocalAddress(connection.client.get());
  const SocketAddress server = PeerAddress(connection.client.get());
  connection.client.Reset();
  const auto owner = OwnerOfConnection(client, server);
  ASSERT_TRUE(owner);
  EXPECT_EQ(*owner, std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Families, SocketOwnerTest, testing::Values("127.0.0.1", "::1"));

TEST(SocketOwner, UnixSocketsAreNoTcp) {
  const auto [one, other] = SocketPair();
  const auto owner = OwnerOfConnection(LocalAddress(one.get()), PeerAddress(one.get()));
  ASSERT_FALSE(owner);
  EXPECT_EQ(owner.error().code, Code::kSystem);
}

// As Linux 6 writes it.
constexpr const char* kProcNetTcp =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0 100 "
    "0 0 10 0\n"
    "   1: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 222 1 0 20 4 "
    "30 10 -1\n"
    "   2: 0100007F:9C41 0100007F:1F90 06 00000000:00000000 03:00000F3C 00000000     0        0 0 3 0\n";

TEST(FindInProcNet, FindsTheConnection) {
  const SocketAddress server = Address("127.0.0.1", 8080);
  EXPECT_EQ(FindInProcNet(kProcNetTcp, Address("127.0.0.1", 40000), server), (SocketOwner{1001, 222}));
  EXPECT_EQ(FindInProcNet(kProcNetTcp, Address("127.0.0.1", 40001), server), std::nullopt)
      << "nobody holds it";
  EXPECT_EQ(FindInProcNet(kProcNetTcp, Address("127.0.0.1", 40002), server), std::nullopt);
}

TEST(FindInProcNet, KnowsMappedAddresses) {
  const std::string text =
      " 0: 0000000000000000FFFF00000100007F:9C40 0000000000000000FFFF00000100007F:1F90 01 0:0 00:0 0 1000 0 "
      "333 1\n";
  EXPECT_EQ(FindInProcNet(text, Address("127.0.0.1", 40000), Address("127.0.0.1", 8080)),
            (SocketOwner{1000, 333}));
}

TEST(FindInProcNet, PassesOverWhatItCannotRead) {
  for (const char* text : {"", "\n\n", "a b c d e f g h i j", " 0: 01:1 01:1 01 0:0 00:0 0 1 0 1 1",
                           " 0: 0100007F:9C40 0100007F:1F90 01 0:0 00:0 0 -1 0 x 1"}) {
    EXPECT_EQ(FindInProcNet(text, Address("127.0.0.1", 40000), Address("127.0.0.1", 8080)), std::nullopt)
        << text;
  }
}

// Linux 5.3 and later.
TEST(HasListeningUnixSocket, IsOfItsOwnerAlone) {
  const TestBase base;
  const std::string path = base.path + "/socket";
  EXPECT_EQ(HasListeningUnixSocket(geteuid(), path), false);
  const auto listener = Listen(*SocketAddress::Path(path));
  ASSERT_TRUE(listener);
  EXPECT_EQ(HasListeningUnixSocket(geteuid(), path), true);
  EXPECT_EQ(HasListeningUnixSocket(geteuid() + 1, path), false);
  EXPECT_EQ(HasListeningUnixSocket(geteuid(), path + "2"), false);
}

// More than one answer of the kernel holds.
TEST(HasListeningUnixSocket, IsFoundAmongMany) {
  const TestBase base;
  const auto path = [&base](int i) { return fmt::format("{}/{:060}", base.path, i); };
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < 600; ++i) sockets.push_back(*Listen(*SocketAddress::Path(path(i))));
  for (int i = 0; i < 600; i += 37) EXPECT_EQ(HasListeningUnixSocket(geteuid(), path(i)), true) << i;
  EXPECT_EQ(HasListeningUnixSocket(geteuid(), path(600)), false);
}

}  // namespace
}  // namespace muster::net
