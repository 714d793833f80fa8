#include "comm/net/socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <future>

#include "tests/comm/net/test_base.h"

namespace muster::net {
namespace {

SocketAddress Numeric(std::string_view host, uint16_t port) {
  return *SocketAddress::FromNumeric(host, port);
}

void WaitFor(int fd, short events) {
  pollfd entry{fd, events, 0};
  ASSERT_EQ(poll(&entry, 1, 10000), 1);
}

TEST(SocketAddress, IsReadOnlyFromNumbers) {
  EXPECT_EQ(Numeric("10.1.2.3", 61000).ToString(), "10.1.2.3:61000");
  EXPECT_EQ(Numeric("2001:db8::1", 1).ToString(), "[2001:db8::1]:1");
  EXPECT_EQ(Numeric("2001:db8::1", 1).Host(), "2001:db8::1");
  for (const char* bad : {"", "localhost", "10.1.2.3.4", "10.1.2.3:80", "[::1]", "::g"}) {
    EXPECT_FALSE(SocketAddress::FromNumeric(bad, 0)) << bad;
  }
}

TEST(SocketAddress, ComparesAndChangesItsPort) {
  SocketAddress address = Numeric("10.1.2.3", 1);
  EXPECT_EQ(address, Numeric("10.1.2.3", 1));
  address.set_port(2);
  EXPECT_EQ(address.port(), 2);
  EXPECT_FALSE(address == Numeric("10.1.2.3", 1));
  EXPECT_EQ(SocketAddress::AnyIpv4(5).ToString(), "0.0.0.0:5");
  EXPECT_EQ(SocketAddress::AnyIpv6(5).ToString(), "[::]:5");
  EXPECT_EQ(SocketAddress().ToString(), "(no address)");
  EXPECT_EQ(SocketAddress().family(), AF_UNSPEC);
}

TEST(SocketAddress, AMappedAddressIsAnIpv4Address) {
  EXPECT_EQ(Numeric("::ffff:10.1.2.3", 7).ToString(), "10.1.2.3:7");
}

TEST(SocketAddress, KnowsLoopbackAndLinkLocal) {
  EXPECT_TRUE(Numeric("127.0.1.1", 0).IsLoopback());
  EXPECT_TRUE(Numeric("::1", 0).IsLoopback());
  EXPECT_TRUE(Numeric("::ffff:127.0.0.9", 0).IsLoopback()) << "a peer of a listener for both families";
  EXPECT_FALSE(Numeric("::ffff:10.0.0.1", 0).IsLoopback());
  EXPECT_FALSE(Numeric("10.0.0.1", 0).IsLoopback());
  EXPECT_TRUE(Numeric("169.254.3.4", 0).IsLinkLocal());
  EXPECT_TRUE(Numeric("fe80::1", 0).IsLinkLocal());
  EXPECT_FALSE(Numeric("fd00::1", 0).IsLinkLocal());
  EXPECT_TRUE(SocketAddress::Path("/tmp/x")->IsLoopback());
}

TEST(SocketAddress, UnixNamesHaveALongestLength) {
  EXPECT_EQ(SocketAddress::Path("/tmp/x")->ToString(), "unix:/tmp/x");
  EXPECT_EQ(SocketAddress::Path("/tmp/x")->path(), "/tmp/x");
  EXPECT_EQ(SocketAddress::AnyIpv4(1).path(), "");
  EXPECT_TRUE(SocketAddress::Path(std::string(107, 'a')));
  EXPECT_EQ(SocketAddress::Path(std::string(107, 'a'))->ToString(), "unix:" + std::string(107, 'a'));
  EXPECT_EQ(SocketAddress::Path(std::string(107, 'a'))->path(), std::string(107, 'a'));
  for (const auto& bad : {SocketAddress::Path(""), SocketAddress::Path(std::string(108, 'a'))}) {
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, Code::kInternal);
    EXPECT_THAT(bad.error().message, testing::EndsWith("is empty or too long"));
  }
}

TEST(Socket, ConnectsAndAccepts) {
  const auto listener = Listen(Numeric("127.0.0.1", 0));
  ASSERT_TRUE(listener);
  const SocketAddress address = LocalAddress(listener->get());
  SocketAddress peer;
  const auto none = Accept(listener->get(), &peer);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const auto client = StartConnect(address);
  ASSERT_TRUE(client);
  WaitFor(client->get(), POLLOUT);
  EXPECT_EQ(ConnectError(client->get()), 0);
  WaitFor(listener->get(), POLLIN);
  const auto server = Accept(listener->get(), &peer);
  ASSERT_TRUE(server && *server);
  EXPECT_EQ(peer, LocalAddress(client->get()));
  EXPECT_EQ(PeerAddress(client->get()), address);
}

TEST(Socket, WaitsForRoomInTheQueueOfAPath) {
  const TestBase base;
  const SocketAddress address = *SocketAddress::Path(base.path + "/full");
  auto listener = Listen(address);
  ASSERT_TRUE(listener);
  const auto waiting = FillQueue(address.path());
  int error_number = 0;
  for (const auto limit : {std::chrono::milliseconds(0), std::chrono::milliseconds(5)}) {
    const auto late = ConnectToPath(address, Deadline::After(limit), &error_number);
    ASSERT_FALSE(late);
    EXPECT_EQ(error_number, EAGAIN);
    EXPECT_EQ(late.error().message,
              fmt::format("cannot connect to unix:{}: Resource temporarily unavailable", address.path()));
  }
  auto connected = std::async(std::launch::async, [&] { return ConnectToPath(address, Deadline::Never()); });
  EXPECT_EQ(connected.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_TRUE(Accept(listener->get()));
  const auto fd = connected.get();
  ASSERT_TRUE(fd);
  EXPECT_NE(fcntl(fd->get(), F_GETFL) & O_NONBLOCK, 0);
  // Its owner ends instead.
  auto refused = std::async(std::launch::async,
                            [&] { return ConnectToPath(address, Deadline::Never(), &error_number); });
  listener->Reset();
  EXPECT_FALSE(refused.get());
  EXPECT_EQ(error_number, ECONNREFUSED);
}

int OptionOf(int fd, int level, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(getsockopt(fd, level, option, &value, &length), 0);
  return value;
}

// An accepted connection inherits its options from the listener: a flood of connections pays for none.
TEST(Socket, BothEndsHaveTheSameOptions) {
  const auto listener = Listen(Numeric("127.0.0.1", 0));
  const auto client = StartConnect(LocalAddress(listener->get()));
  WaitFor(listener->get(), POLLIN);
  const auto server = Accept(listener->get());
  ASSERT_TRUE(server && *server);
  for (const int fd : {client->get(), server->get()}) {
    EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(OptionOf(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_KEEPIDLE), 15);
    EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_KEEPINTVL), 5);
    EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
    // A peer that does not read for an hour is busy, not gone.
    EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
  }
}

TEST(Socket, ALinkLocalAddressOfAnotherNodeGetsTheInterfaceOfThisOne) {
  EXPECT_EQ(OnInterfaceOf("fe80::2%ib0", "fe80::1%eth0"), "fe80::1%ib0");
  EXPECT_EQ(OnInterfaceOf("10.1.0.2", "fe80::1%eth0"), "fe80::1%eth0");
  EXPECT_EQ(OnInterfaceOf("fe80::2%ib0", "fd00::1"), "fd00::1");
}

TEST(Socket, KnowsAPeerThatHasHungUp) {
  const auto listener = Listen(Numeric("127.0.0.1", 0));
  auto client = StartConnect(LocalAddress(listener->get()));
  WaitFor(listener->get(), POLLIN);
  const auto server = Accept(listener->get());
  ASSERT_TRUE(server && *server);
  EXPECT_FALSE(PeerHasHungUp(server->get()));
  ASSERT_EQ(send(client->get(), "x", 1, MSG_NOSIGNAL), 1);
  client->Reset();
  WaitFor(server->get(), POLLIN);
  EXPECT_FALSE(PeerHasHungUp(server->get())) << "it has left something to read";
  char byte = 0;
  ASSERT_EQ(recv(server->get(), &byte, 1, 0), 1);
  WaitFor(server->get(), POLLIN);
  EXPECT_TRUE(PeerHasHungUp(server->get()));
}

TEST(Socket, ARefusedConnectionSaysSo) {
  SocketAddress address;
  {
    const auto listener = Listen(Numeric("127.0.0.1", 0));
    address = LocalAddress(listener->get());
  }
  const auto client = StartConnect(address);
  ASSERT_TRUE(client);
  WaitFor(client->get(), POLLOUT);
  EXPECT_EQ(ConnectError(client->get()), ECONNREFUSED);
}

TEST(Socket, ATakenAddressIsNamed) {
  const auto first = Listen(Numeric("127.0.0.1", 0));
  const SocketAddress address = LocalAddress(first->get());
  int error = 0;
  const auto second = Listen(address, &error);
  ASSERT_FALSE(second);
  EXPECT_EQ(error, EADDRINUSE);
  EXPECT_EQ(
      second.error(),
      (Error{Code::kSystem, fmt::format("cannot bind {}: Address already in use", address.ToString()), ""}));
}

TEST(Socket, AUnixSocketNobodyHoldsIsNamed) {
  int error = 0;
  const auto client = StartConnect(*SocketAddress::Path("/tmp/muster-test-nobody"), &error);
  ASSERT_FALSE(client);
  EXPECT_EQ(error, ENOENT);
  EXPECT_EQ(client.error().message,
            "cannot connect to unix:/tmp/muster-test-nobody: No such file or directory");
}

TEST(Socket, TheKernelSaysWhoIsThere) {
  const TestBase base;
  const auto name = SocketAddress::Path(base.path + "/listener");
  const auto listener = Listen(*name);
  ASSERT_TRUE(listener);
  const auto client = StartConnect(*name);
  const auto server = Accept(listener->get());
  ASSERT_TRUE(client && server && *server);
  for (const int fd : {client->get(), server->get()}) {
    const auto credentials = CredentialsOf(fd);
    ASSERT_TRUE(credentials);
    EXPECT_EQ(credentials->pid, getpid());
    EXPECT_EQ(credentials->uid, getuid());
  }
  EXPECT_EQ(PeerAddress(client->get()).path(), name->path());
  EXPECT_EQ(PeerAddress(server->get()).ToString(), "unix:(unnamed)");
}

UniqueFd NewSocket(int family) { return UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

TEST(NetworkNamespaceOf, IsThatOfTheProcessThatMadeTheSocket) {
  const uint32_t here = NetworkNamespaceOf(NewSocket(AF_UNIX).get());
  EXPECT_NE(here, 0U);
  EXPECT_EQ(NetworkNamespaceOf(NewSocket(AF_INET).get()), here);
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) _exit(2);
    const uint32_t there = NetworkNamespaceOf(NewSocket(AF_UNIX).get());
    _exit(there != 0 && there != here && NetworkNamespaceOf(NewSocket(AF_INET).get()) == there ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "needs root: unshare is not allowed";
  EXPECT_EQ(status, 0);
}

// In a network namespace whose only ephemeral port is 40000, as if a neighbour on the node had used up the others.
void WithOneEphemeralPort(bool (*check)()) {
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() != 0 || unshare(CLONE_NEWNET) != 0) _exit(2);
    const UniqueFd range(open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC));
    if (write(range.get(), "40000 40000", 11) != 11) _exit(2);
    ifreq loopback{{"lo"}, {}};
    loopback.ifr_flags = IFF_UP;
    const UniqueFd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (ioctl(any.get(), SIOCSIFFLAGS, &loopback) != 0) _exit(2);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "needs root: unshare is not allowed";
  EXPECT_EQ(status, 0);
}

TEST(Listen, NeedsNoEphemeralPort) {
  WithOneEphemeralPort([] {
    const auto first = Listen(SocketAddress::AnyIpv4(0));
    const auto second = Listen(SocketAddress::AnyIpv4(0));
    return first && second && LocalAddress(first->get()).port() == 40000 &&
           LocalAddress(second->get()).port() >= 65000;
  });
}

TEST(StartConnect, NeedsNoEphemeralPort) {
  WithOneEphemeralPort([] {
    const auto listener = Listen(*SocketAddress::FromNumeric("127.0.0.1", 39000));
    if (!listener) return false;
    const auto first = StartConnect(LocalAddress(listener->get()));
    const auto second = StartConnect(LocalAddress(listener->get()));
    const auto third = StartConnect(LocalAddress(listener->get()));
    return first && second && third && ConnectError(second->get()) == 0 &&
           PeerAddress(third->get()).port() == 39000 && LocalAddress(first->get()).port() == 40000 &&
           LocalAddress(second->get()).port() >= 65000 && LocalAddress(third->get()).port() >= 65000;
  });
}

}  // namespace
}  // namespace muster::net
