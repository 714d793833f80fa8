#include "bootstrap/store/master_port.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "comm/base/bytes.h"
#include "comm/net/hosts.h"
#include "comm/rendezvous/link/names.h"
#include "tests/comm/base/print_error.h"

namespace muster::store {
namespace {

Roster RosterWith(const rendezvous::JoinRequest& request) {
  Roster roster;
  roster.nodes.push_back({"gpu01", {}});
  roster.members.push_back({0, 0, 1, request.self.claims.front().payload});
  return roster;
}

rendezvous::JoinRequest RequestOf(int rank) {
  rendezvous::JoinRequest request;
  request.meeting.key = "slurm uid=1 job=4 step=0";
  request.self.claims = {{rank, 0, 1, {}}};
  return request;
}

TEST(ChooseMasterPort, IsRankZerosAndInItsClaim) {
  rendezvous::JoinRequest request = RequestOf(0);
  const auto store = ChooseMasterPort({}, std::nullopt, true, request);
  ASSERT_TRUE(store);
  ASSERT_TRUE(*store);
  const uint16_t port = (*store)->port();
  EXPECT_EQ(MasterPortOf(RosterWith(request)), port);
  EXPECT_EQ(request.self.claims.front().payload,
            (Bytes{static_cast<uint8_t>(port), static_cast<uint8_t>(port >> 8), 0, 0, 0, 0}));
}

TEST(ChooseMasterPort, NothingForTheOthers) {
  rendezvous::JoinRequest request = RequestOf(5);
  const auto store = ChooseMasterPort({}, std::nullopt, true, request);
  ASSERT_TRUE(store);
  EXPECT_FALSE(*store);
  EXPECT_TRUE(request.self.claims.front().payload.empty());
}

// A program's connection to the store may come from any of them.
TEST(ChooseMasterPort, ANodesFirstProcessTellsItsAddresses) {
  std::vector<std::string> addresses;
  const auto interfaces = net::LocalInterfaces();
  ASSERT_TRUE(interfaces);
  for (const net::LocalInterface& interface : *interfaces) {
    if (!interface.address.IsLoopback() && !interface.address.IsLinkLocal() &&
        !net::IsNodeLocalInterface(interface.name))
      addresses.push_back(interface.address.Host());
  }
  for (const int rank : {0, 4}) {
    rendezvous::JoinRequest request = RequestOf(rank);
    ASSERT_TRUE(ChooseMasterPort({}, std::nullopt, false, request));
    EXPECT_EQ(AddressesInClaim(RosterWith(request).members.front()), addresses);
  }
  rendezvous::JoinRequest second = RequestOf(5);
  second.self.claims.front().local_rank = 1;
  ASSERT_TRUE(ChooseMasterPort({}, std::nullopt, false, second));
  EXPECT_TRUE(second.self.claims.front().payload.empty());
}

TEST(ChooseMasterPort, AProgramThatServesItselfFindsItFree) {
  config::Config config;
  config.run.store = config::RunStore::kProgram;
  rendezvous::JoinRequest request = RequestOf(0);
  const auto store = ChooseMasterPort(config, std::nullopt, true, request);
  ASSERT_TRUE(store);
  EXPECT_FALSE(*store);
  EXPECT_NE(MasterPortOf(RosterWith(request)), 0);
}

// A process that searches for the root there would be a stranger to the store.
TEST(ChooseMasterPort, IsNowhereTheRootIsLookedFor) {
  config::Config config;
  rendezvous::JoinRequest request = RequestOf(0);
  // A range of which the group takes a good part.
  config.rendezvous.ports.last =
      static_cast<uint16_t>(config.rendezvous.ports.first + rendezvous::kLadderLength + 40);
  const auto ladder = rendezvous::PortLadder(request.meeting.key, config.rendezvous.ports);
  ASSERT_EQ(ladder.size(), rendezvous::kLadderLength);
  for (int i = 0; i < 20; ++i) {
    const auto store = ChooseMasterPort(config, std::nullopt, true, request);
    ASSERT_TRUE(store);
    EXPECT_EQ(std::ranges::count(ladder, (*store)->port()), 0);
  }
}

}  // namespace
}  // namespace muster::store
