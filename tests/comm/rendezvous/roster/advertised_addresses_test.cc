#include "comm/rendezvous/roster/advertised_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "comm/net/hosts.h"
#include "tests/comm/net/own_network.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AddressesToAdvertise, WithoutAPatternTheProvenOnes) {
  EXPECT_THAT(*AddressesToAdvertise("gpu02", std::nullopt, {"10.1.2.3"}), ElementsAre("10.1.2.3"));
}

TEST(AddressesToAdvertise, NeverLoopback) {
  const auto advertised = AddressesToAdvertise("gpu02", "lo", {"10.1.2.3"});
  ASSERT_FALSE(advertised);
  EXPECT_EQ(advertised.error().code, Code::kConfiguration);
  EXPECT_EQ(advertised.error().message, "rendezvous.interface \"lo\" matches no usable address of gpu02");
  EXPECT_THAT(advertised.error().hint, HasSubstr("gpu02 has lo 127.0.0.1"));
}

TEST(AddressesToAdvertise, APatternThatMatchesIsObeyed) {
  const auto interfaces = net::LocalInterfaces();
  ASSERT_TRUE(interfaces);
  const auto usable = std::ranges::find_if(*interfaces, [](const net::LocalInterface& entry) {
    return !entry.address.IsLoopback() && !entry.address.IsLinkLocal() &&
           !net::IsNodeLocalInterface(entry.name);
  });
  if (usable == interfaces->end()) {
    EXPECT_FALSE(AddressesToAdvertise("gpu02", "*", {}));
    return;
  }
  const auto advertised = AddressesToAdvertise("gpu02", usable->name, {});
  ASSERT_TRUE(advertised);
  EXPECT_THAT(*advertised, testing::Contains(usable->address.Host()));
  EXPECT_THAT(
      *AddressesToAdvertise(
          "gpu02", usable->address.Host() + (usable->address.family() == AF_INET ? "/32" : "/128"), {}),
      ElementsAre(usable->address.Host()));
}

// The first address is MASTER_ADDR of programs.
TEST(AddressesToAdvertise, TheProvenOneComesFirstAndNoneWithoutALink) {
  if (getuid() != 0) GTEST_SKIP() << "needs root: a network namespace";
  const net::OwnNetwork network(
      "ip link add e0 type veth peer name x0; ip link add e1 type veth peer name x1;"
      "ip addr add 10.77.0.1/24 dev e0; ip addr add 10.88.0.1/24 dev e1; ip addr add 10.88.0.2/24 dev e1;"
      "ip link set e0 up; ip link set e1 up; ip link set x1 up;" +
      net::AwaitLink("e1"));
  ASSERT_TRUE(network.made());
  EXPECT_THAT(*AddressesToAdvertise("gpu02", "e*", {"10.88.0.2"}), ElementsAre("10.88.0.2", "10.88.0.1"));
  const auto no_link = AddressesToAdvertise("gpu02", "e0", {"10.88.0.2"});
  ASSERT_FALSE(no_link);
  EXPECT_THAT(no_link.error().hint, HasSubstr("e0 10.77.0.1 (no link), e1 10.88.0.1"));
}

}  // namespace
}  // namespace muster::rendezvous
