#include "bootstrap/store/store_port.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "comm/net/hosts.h"
#include "comm/net/socket.h"
#include "tests/comm/base/print_error.h"
#include "tests/comm/net/test_base.h"

namespace muster::store {
namespace {

constexpr PortRange kPorts{61000, 64999};

bool IsFree(const net::SocketAddress& address) { return net::Listen(address).has_value(); }

TEST(StorePort, IsHeldAtEveryAddressUntilOneIsChosen) {
  auto port = StorePort::Hold({kPorts});
  ASSERT_TRUE(port);
  EXPECT_GE(port->port(), kPorts.first);
  EXPECT_LE(port->port(), kPorts.last);
  const net::SocketAddress loopback = *net::SocketAddress::FromNumeric("127.0.0.1", port->port());
  EXPECT_FALSE(IsFree(loopback));
  EXPECT_FALSE(IsFree(net::SocketAddress::AnyIpv4(port->port()))) << "nobody can listen at all addresses";
  const auto interfaces = net::LocalInterfaces();
  ASSERT_TRUE(interfaces);
  for (const net::LocalInterface& interface : *interfaces) {
    if (interface.address.IsLoopback() || interface.address.IsLinkLocal()) continue;
    net::SocketAddress address = interface.address;
    address.set_port(port->port());
    EXPECT_FALSE(IsFree(address)) << address.ToString();
  }
  const auto kept = port->KeepOnly("127.0.0.1");
  ASSERT_TRUE(kept);
  EXPECT_EQ(net::LocalAddress(kept->get()), loopback);
  EXPECT_FALSE(IsFree(loopback));
  for (const net::LocalInterface& interface : *interfaces) {
    if (interface.address.IsLoopback() || interface.address.IsLinkLocal()) continue;
    net::SocketAddress address = interface.address;
    address.set_port(port->port());
    EXPECT_TRUE(IsFree(address)) << address.ToString();
  }
}

// A link that is down for a shorter time than liveness.dead_after ends no connection to the store.
TEST(StorePort, KeepsASilentConnectionForAnHour) {
  auto port = StorePort::Hold({kPorts, 0, true});
  ASSERT_TRUE(port);
  const auto kept = port->KeepOnly("127.0.0.1");
  ASSERT_TRUE(kept);
  EXPECT_GT(net::KeepAliveSeconds(kept->get()), 3600);
}

TEST(StorePort, WhoConnectsBeforeItIsServedWaits) {
  auto port = StorePort::Hold({kPorts, 0, true});
  ASSERT_TRUE(port);
  const auto client = net::StartConnect(*net::SocketAddress::FromNumeric("127.0.0.1", port->port()));
  ASSERT_TRUE(client);
  const auto kept = port->KeepOnly("127.0.0.1");
  ASSERT_TRUE(kept);
  EXPECT_TRUE(*net::Accept(kept->get()));
}

// Of a few free ports that the kernel gives to no process.
PortRange FreeRange(int count) {
  for (uint16_t first = 20000; first < 32000; first = static_cast<uint16_t>(first + count)) {
    bool free = true;
    for (int i = 0; i < count; ++i) {
      free &= IsFree(net::SocketAddress::AnyIpv6(static_cast<uint16_t>(first + i)));
    }
    if (free) return {first, static_cast<uint16_t>(first + count - 1)};
  }
  return {};
}

bool IsOneOf(PortRange ports, uint16_t port) { return port >= ports.first && port <= ports.last; }

TEST(StorePort, LeavesAPortForGroupsThatForm) {
  const PortRange ports = FreeRange(3);
  ASSERT_NE(ports.first, 0);
  const auto first = StorePort::Hold({ports, 0, true});
  const auto second = StorePort::Hold({ports, 0, true});
  const auto third = StorePort::Hold({ports, 0, true});
  ASSERT_TRUE(first && second && third);
  EXPECT_TRUE(IsOneOf(ports, first->port()));
  EXPECT_TRUE(IsOneOf(ports, second->port()));
  EXPECT_NE(first->port(), second->port());
  EXPECT_FALSE(IsOneOf(ports, third->port()));
}

TEST(StorePort, ASinglePortIsForGroupsThatForm) {
  const PortRange one = FreeRange(1);
  const auto port = StorePort::Hold({one, 0, true});
  ASSERT_TRUE(port);
  EXPECT_NE(port->port(), one.first);
}

TEST(StorePort, IsNotWhereTheGroupMeets) {
  const PortRange ports = FreeRange(3);
  for (int i = 0; i < 20; ++i) {
    const auto port = StorePort::Hold({ports, ports.first, true});
    ASSERT_TRUE(port);
    EXPECT_NE(port->port(), ports.first);
  }
}

// A port where the group may meet is still better than one that a firewall closes.
TEST(StorePort, IsRatherWhereTheGroupMayMeetThanOutsideTheRange) {
  const PortRange ports = FreeRange(3);
  const uint16_t middle = ports.first + 1;
  const auto first = StorePort::Hold({ports, 0, true, {ports.first, ports.last}});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->port(), middle);
  const auto second = StorePort::Hold({ports, ports.first, true, {ports.first, ports.last}});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->port(), ports.last);
}

TEST(StorePort, IsNeverOneOfOthers) {
  const PortRange ports{static_cast<uint16_t>(kPorts.last - 3), kPorts.last};
  const std::vector<uint16_t> others = {ports.first, static_cast<uint16_t>(ports.first + 1)};
  for (int i = 0; i < 20; ++i) {
    const auto port = StorePort::Hold({ports, 0, true, {}, others});
    ASSERT_TRUE(port);
    EXPECT_EQ(std::ranges::count(others, port->port()), 0);
  }
}

TEST(StorePort, AnAddressThatIsNotThereIsAnError) {
  auto port = StorePort::Hold({kPorts, 0, true});
  ASSERT_TRUE(port);
  const auto kept = port->KeepOnly("192.0.2.1");
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kSystem);
  EXPECT_EQ(kept.error().message,
            fmt::format("cannot bind 192.0.2.1:{}: Cannot assign requested address", port->port()));
}

}  // namespace
}  // namespace muster::store
