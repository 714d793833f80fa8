#include "bootstrap/store/store_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/store/master_port.h"
#include "comm/base/wire.h"

namespace muster::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

net::SocketAddress From(std::string_view host) { return *net::SocketAddress::FromNumeric(host, 40000); }

Slice Claimed(const std::vector<std::string>& addresses) {
  WireWriter writer;
  writer.U16(0);
  writer.U32(static_cast<uint32_t>(addresses.size()));
  for (const std::string& address : addresses) writer.String(address);
  return writer.Take();
}

Roster TwoNodes() {
  Roster roster;
  roster.nodes = {{"a", {"10.1.0.1"}}, {"b", {"10.1.0.2", "fd00::2"}}};
  roster.members = {{0, 0, 1, Claimed({"10.1.0.1", "10.2.0.1", "192.168.0.1"})},
                    {0, 1, 2, {}},
                    {1, 0, 3, Claimed({"10.1.0.2", "10.2.0.2", "192.168.0.1", "10.1.0.1"})}};
  return roster;
}

TEST(StoreAddresses, ANodeIsKnownByAllItsAddresses) {
  const StoreAddresses addresses(TwoNodes(), 0, {"10.1.0.1", "10.2.0.1", "192.168.0.1", "172.17.0.1"});
  EXPECT_THAT(addresses.NodesOf(From("10.1.0.2")), ElementsAre(1));
  EXPECT_THAT(addresses.NodesOf(From("fd00::2")), ElementsAre(1));
  EXPECT_THAT(addresses.NodesOf(From("10.2.0.2")), ElementsAre(1)) << "never advertised";
  EXPECT_THAT(addresses.NodesOf(From("10.2.0.1")), ElementsAre(0));
}

// The interface of each node's address is its own.
TEST(StoreAddresses, ALinkLocalAddressIsKnownWithoutItsInterface) {
  Roster roster = TwoNodes();
  roster.nodes = {{"a", {"10.1.0.1"}}, {"b", {"fe80::2%ib9"}}};
  const StoreAddresses addresses(roster, 0, {"fe80::1%lo"});
  EXPECT_THAT(addresses.NodesOf(From("fe80::2%lo")), ElementsAre(1));
  EXPECT_TRUE(addresses.IsOwn(From("fe80::1")));
}

TEST(StoreAddresses, AllOthersAreStrangers) {
  const StoreAddresses addresses(TwoNodes(), 0, {"10.1.0.1"});
  EXPECT_THAT(addresses.NodesOf(From("10.1.0.3")), IsEmpty());
  EXPECT_THAT(addresses.NodesOf(From("172.17.0.1")), IsEmpty());
  EXPECT_THAT(addresses.NodesOf(From("fd00::1")), IsEmpty());
}

TEST(StoreAddresses, AnAdvertisedAddressIsOneNodes) {
  const StoreAddresses addresses(TwoNodes(), 0, {});
  EXPECT_THAT(addresses.NodesOf(From("10.1.0.1")), ElementsAre(0)) << "whatever b calls its own";
}

// As of a network inside each node: no connection comes from there, and a stranger's would cost a question to each node.
TEST(StoreAddresses, OneThatSeveralMachinesHaveIsNoNodes) {
  EXPECT_THAT(StoreAddresses(TwoNodes(), 0, {}).NodesOf(From("192.168.0.1")), IsEmpty());
  const StoreAddresses here(TwoNodes(), 1, {"192.168.0.1"});
  EXPECT_THAT(here.NodesOf(From("192.168.0.1")), ElementsAre(1)) << "made on this machine";
}

TEST(StoreAddresses, NodesOfOneNetworkNamespaceShareTheirs) {
  Roster roster;
  roster.nodes = {{"a", {"10.1.0.1"}}, {"b", {"10.1.0.2"}}, {"c", {"10.1.0.2"}}};
  roster.members = {{0, 0, 1, Claimed({"10.1.0.1"})},
                    {1, 0, 2, Claimed({"10.1.0.2", "10.2.0.2"})},
                    {2, 0, 3, Claimed({"10.1.0.2", "10.2.0.2"})}};
  const StoreAddresses addresses(roster, 0, {"10.1.0.1"});
  EXPECT_THAT(addresses.NodesOf(From("10.1.0.2")), ElementsAre(1, 2));
  EXPECT_THAT(addresses.NodesOf(From("10.2.0.2")), ElementsAre(1, 2));
}

TEST(StoreAddresses, ThisMachinesAreOwn) {
  const StoreAddresses addresses(TwoNodes(), 1, {"10.1.0.2", "172.17.0.1"});
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "10.1.0.2", "172.17.0.1"}) {
    EXPECT_TRUE(addresses.IsOwn(From(host))) << host;
    EXPECT_THAT(addresses.NodesOf(From(host)), ElementsAre(1)) << host;
  }
  EXPECT_FALSE(addresses.IsOwn(From("10.1.0.1")));
}

TEST(StoreAddresses, AMalformedClaimAddsNothing) {
  Roster roster = TwoNodes();
  const ByteView whole = roster.members[2].payload.view();
  Bytes cut(whole.begin(), whole.end());
  cut.pop_back();
  roster.members.own()[2].payload = cut;
  EXPECT_THAT(AddressesInClaim(roster.members[2]), IsEmpty());
  const StoreAddresses addresses(roster, 0, {});
  EXPECT_THAT(addresses.NodesOf(From("10.2.0.2")), IsEmpty());
  EXPECT_THAT(addresses.NodesOf(From("10.1.0.2")), ElementsAre(1));
}

}  // namespace
}  // namespace muster::store
