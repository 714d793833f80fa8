#include "comm/rendezvous/join/group_formation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/net/hosts.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
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

TEST(PauseBeforeHello, IsLongerEachTimeIfMoreRanksOfTheNodeAreSureToCome) {
  struct Row {
    int local;
    int local_size;
    milliseconds last;
    milliseconds pause;
  };
  for (const Row& row : {Row{1, 1, milliseconds(0), milliseconds(0)},      // the whole node
                         Row{4, 4, milliseconds(80), milliseconds(0)},     //
                         Row{1, 4, milliseconds(0), milliseconds(20)},     // first hello
                         Row{2, 4, milliseconds(20), milliseconds(40)},    //
                         Row{3, 4, milliseconds(160), milliseconds(200)},  // at most
                         Row{1, -1, milliseconds(0), milliseconds(20)},    // size unknown
                         Row{9, -1, milliseconds(20), milliseconds(20)}}) {
    ArrivedRanks arrived;
    arrived.local = row.local;
    arrived.local_size = row.local_size;
    EXPECT_EQ(PauseBeforeHello(arrived, row.last), row.pause) << row.local << "/" << row.local_size;
  }
}

// The simulation found it: the second hello was on the way to the root when the group formed, and the second process got the
// roster like the first.
TEST(FindSecondClaim, IsTheProcessThatCameLater) {
  const auto process = [](int pid, int rank) {
    ProcessInfo info;
    info.node = "gpu02";
    info.pid = pid;
    info.claims = {{rank, rank, 3, {}}};
    return info;
  };
  const ProcessInfo self = process(10, 0);
  const std::vector<std::pair<ChildLinks::Source, ProcessInfo>> members = {
      {1, process(11, 1)}, {2, process(12, 2)}, {3, process(13, 1)}, {4, process(14, 0)}};
  EXPECT_FALSE(FindSecondClaim(self, members, 1));
  EXPECT_FALSE(FindSecondClaim(self, members, 2));
  ASSERT_TRUE(FindSecondClaim(self, members, 3));
  EXPECT_EQ(FindSecondClaim(self, members, 3)->code, Code::kDisagreement);
  EXPECT_EQ(FindSecondClaim(self, members, 3)->message,
            "rank 1 is claimed twice: by pid 11 on gpu02 and by pid 13 on gpu02");
  EXPECT_TRUE(FindSecondClaim(self, members, 4));
}

}  // namespace
}  // namespace muster::rendezvous
