#include "comm/socket/transport/peer_addresses.h"

#include <gtest/gtest.h>

namespace muster::socket {
namespace {

Roster TwoNodes() { return {"", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 0, {}}, {1, 0, 0, {}}}}; }

TEST(PeerAddresses, KeepsEachAddress) {
  const std::vector<EndpointAddress> all = {{"data-1f", 40001, 0xf0000098, 7},
                                            {"data-00000003-40002", 40002, 3, 7},
                                            {"", 40003, 3, 0},
                                            {"data-2f", 0, 0, 9}};
  PeerAddresses addresses(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank)
    ASSERT_TRUE(addresses.Read(TwoNodes(), static_cast<int>(rank), EncodeEndpoint(all[rank])));
  for (size_t rank = 0; rank < all.size(); ++rank) EXPECT_EQ(addresses.Of(static_cast<int>(rank)), all[rank]);
}

TEST(PeerAddresses, ALaterPortChangesNoName) {
  PeerAddresses addresses(2);
  addresses.Set(0, ViewOf({"data-1f", 0, 3, 7}));
  addresses.Set(1, ViewOf({"data-00000003-40002", 40002, 3, 7}));
  for (const int rank : {0, 1}) addresses.SetPort(rank, 40009);
  EXPECT_EQ(addresses.Of(0), (EndpointAddress{"data-1f", 40009, 3, 7}));
  EXPECT_EQ(addresses.Of(1), (EndpointAddress{"data-00000003-40002", 40009, 3, 7}));
}

TEST(PeerAddresses, AnUnknownNetworkNamespaceIsNotAnotherOne) {
  PeerAddresses addresses(3);
  addresses.Set(0, ViewOf({"", 40001, 3, 7}));
  addresses.Set(1, ViewOf({"", 40001, 4, 7}));
  addresses.Set(2, ViewOf({"", 40001, 0, 7}));
  EXPECT_TRUE(addresses.AreApart(0, 1));
  EXPECT_FALSE(addresses.AreApart(0, 2));
  EXPECT_FALSE(addresses.AreApart(0, 0));
}

TEST(PeerAddresses, NamesTheRankOfAMalformedPayload) {
  PeerAddresses addresses(2);
  const Status read = addresses.Read(TwoNodes(), 1, Bytes{4});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kDisagreement);
  EXPECT_EQ(read.error().message, "rank 1 on gpu02 sent a malformed data endpoint");
}

}  // namespace
}  // namespace muster::socket
