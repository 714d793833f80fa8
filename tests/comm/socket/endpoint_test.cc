#include "comm/socket/endpoint.h"

#include <gtest/gtest.h>

#include "comm/net/socket.h"

namespace muster {
namespace {

Roster TwoNodes() { return {"", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 0, {}}, {1, 0, 0, {}}}}; }

TEST(Endpoint, IsWrittenAndReadBack) {
  const EndpointAddress address{"0001f", 40001, 0xf0000098};
  const Bytes payload = EncodeEndpoint(address);
  EXPECT_EQ(payload, (Bytes{2, 0x41, 0x9c, 0x98, 0, 0, 0xf0, 5, '0', '0', '0', '1', 'f'}));
  const auto decoded = DecodeEndpoint(payload, TwoNodes(), 1);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, address);
}

TEST(Endpoint, RefusesEverythingElse) {
  const Bytes good = EncodeEndpoint({"0001f", 40001, 7});
  Bytes longer = good;
  longer.push_back(0);
  Bytes wrong_length = good;
  wrong_length[7] = 200;
  for (const Bytes& bad : {Bytes(), Bytes(good.begin(), good.end() - 1), longer, wrong_length}) {
    const auto decoded = DecodeEndpoint(bad, TwoNodes(), 1);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, Code::kDisagreement);
    EXPECT_EQ(decoded.error().message, "rank 1 on gpu02 brought a malformed data endpoint");
  }
  Bytes newer = good;
  newer[0] = 3;
  EXPECT_EQ(DecodeEndpoint(newer, TwoNodes(), 1).error().message,
            "rank 1 on gpu02 speaks version 3 of the data protocol, this rank version 2");
}

TEST(SocketEndpoint, ListensOnBothFamiliesAndAnAbstractName) {
  const auto endpoint = SocketEndpoint::Open();
  ASSERT_TRUE(endpoint) << endpoint.error().message;
  const EndpointAddress& address = (*endpoint)->address();
  EXPECT_NE(address.port, 0);
  EXPECT_EQ(address.unix_name.size(), 5U);
  EXPECT_TRUE(StartConnect(*SocketAddress::FromNumeric("127.0.0.1", address.port)));
  EXPECT_TRUE(StartConnect(*SocketAddress::Abstract(address.unix_name)));
  EXPECT_EQ(DecodeEndpoint((*endpoint)->payload(), TwoNodes(), 1), address);
}

TEST(SocketEndpoint, OpensNoPortWhereNoneIsNeeded) {
  const auto endpoint = SocketEndpoint::Open({.tcp = false});
  ASSERT_TRUE(endpoint);
  EXPECT_EQ((*endpoint)->address().port, 0);
  EXPECT_EQ((*endpoint)->tcp_fd(), -1);
}

}  // namespace
}  // namespace muster
