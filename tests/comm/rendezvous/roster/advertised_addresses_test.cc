#include "comm/rendezvous/roster/advertised_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/net/hosts.h"

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

}  // namespace
}  // namespace muster::rendezvous
