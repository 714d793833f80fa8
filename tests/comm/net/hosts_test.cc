#include "comm/net/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/comm/net/own_network.h"

namespace muster::net {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

LocalInterface Interface(std::string name, std::string_view address) {
  return {std::move(name), *SocketAddress::FromNumeric(address, 0)};
}

TEST(ResolveHost, ANumberIsItself) {
  const auto resolved = ResolveHost("10.1.2.3", 61000);
  ASSERT_TRUE(resolved);
  ASSERT_EQ(resolved->size(), 1u);
  EXPECT_EQ(resolved->front().ToString(), "10.1.2.3:61000");
}

TEST(AddressesSeenFrom, ALinkLocalAddressIsOnTheInterfaceOfTheNodeThatConnects) {
  const auto seen = [](const std::vector<std::string>& own) {
    std::vector<std::string> addresses;
    for (const SocketAddress& address : AddressesSeenFrom(own, {"10.1.0.1", "fe80::1%lo", "no address"}, 7))
      addresses.push_back(address.ToString());
    return addresses;
  };
  EXPECT_THAT(seen({"10.1.0.2", "fe80::2%1"}), ElementsAre("10.1.0.1:7", "[fe80::1%lo]:7"));
  EXPECT_THAT(seen({"fe80::2%no-such"}), ElementsAre("10.1.0.1:7"));
  EXPECT_THAT(seen({}), ElementsAre("10.1.0.1:7", "[fe80::1%lo]:7"));
}

TEST(ResolveHost, LocalhostIsLoopbackOnce) {
  const auto resolved = ResolveHost("localhost", 5);
  ASSERT_TRUE(resolved);
  ASSERT_FALSE(resolved->empty());
  for (const SocketAddress& address : *resolved) {
    EXPECT_TRUE(address.IsLoopback());
    EXPECT_EQ(std::ranges::count(*resolved, address), 1);
  }
}

TEST(ResolveHost, ANameThatCannotBeIsNamed) {
  const auto resolved = ResolveHost("no such host", 5);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().code, Code::kSystem);
  EXPECT_THAT(resolved.error().message, StartsWith("cannot resolve host \"no such host\": "));
}

TEST(LocalInterfaces, HasLoopback) {
  const auto interfaces = LocalInterfaces();
  ASSERT_TRUE(interfaces);
  const auto loopback = std::ranges::find_if(
      *interfaces, [](const LocalInterface& entry) { return entry.address.Host() == "127.0.0.1"; });
  ASSERT_NE(loopback, interfaces->end());
  EXPECT_EQ(loopback->name, "lo");
}

TEST(IsNodeLocalInterface, KnowsThoseThatExistOnEveryNode) {
  for (const char* name : {"lo", "docker0", "virbr0", "cni0", "podman1"})
    EXPECT_TRUE(IsNodeLocalInterface(name));
  for (const char* name : {"eth0", "ib0", "lo0", "enp1s0"}) EXPECT_FALSE(IsNodeLocalInterface(name));
}

TEST(MatchesInterface, ByNameAndGlob) {
  const LocalInterface eth = Interface("eth0", "10.1.2.3");
  EXPECT_TRUE(MatchesInterface(eth, "eth0"));
  EXPECT_TRUE(MatchesInterface(eth, "eth*"));
  EXPECT_TRUE(MatchesInterface(eth, "e[t]h?"));
  EXPECT_FALSE(MatchesInterface(eth, "eth"));
  EXPECT_FALSE(MatchesInterface(eth, "ib*"));
}

TEST(MatchesInterface, ByNetwork) {
  const LocalInterface eth = Interface("eth0", "10.1.2.3");
  for (const char* yes : {"10.1.0.0/16", "10.1.2.3/32", "10.0.0.0/9", "0.0.0.0/0", "10.1.2.2/31"}) {
    EXPECT_TRUE(MatchesInterface(eth, yes)) << yes;
  }
  for (const char* no : {"10.2.0.0/16", "10.1.2.2/32", "10.128.0.0/9", "10.1.2.3/33", "10.1.2.3/-1",
                         "10.1.2.3/x", "eth0/8", "::/0", "/", "10.1.2.3/"}) {
    EXPECT_FALSE(MatchesInterface(eth, no)) << no;
  }
  const LocalInterface ipv6 = Interface("eth0", "fd00:1::2");
  EXPECT_TRUE(MatchesInterface(ipv6, "fd00::/8"));
  EXPECT_TRUE(MatchesInterface(ipv6, "fd00:1::/64"));
  EXPECT_FALSE(MatchesInterface(ipv6, "fe00::/8"));
}

TEST(ChosenInterfaces, HaveALinkAndBeginWithTheOneOfTheAddress) {
  if (getuid() != 0) GTEST_SKIP() << "needs root: a network namespace";
  const OwnNetwork network(
      "for i in 0 1 2; do ip link add e$i type veth peer name x$i; ip addr add 10.77.$i.1/24 dev e$i;"
      "ip link set e$i up; done; ip addr add 10.77.2.2/24 dev e2; ip link set x1 up; ip link set x2 up;" +
      AwaitLink("e1") + AwaitLink("e2"));
  ASSERT_TRUE(network.made());
  EXPECT_THAT(ChosenInterfaces("e*"), ElementsAre("e1", "e2"));
  EXPECT_THAT(ChosenInterfaces("e*", "10.77.2.2"), ElementsAre("e2", "e1"));
}

}  // namespace
}  // namespace muster::net
