#include "comm/socket/transport/endpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "comm/net/private_directory.h"
#include "comm/net/socket.h"
#include "tests/comm/net/test_base.h"

namespace muster::socket {
namespace {

Roster TwoNodes() { return {"", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 0, {}}, {1, 0, 0, {}}}}; }

TEST(Endpoint, IsWrittenAndReadBack) {
  const EndpointAddress address{"data-1f", 40001, 0xf0000098, 7};
  const Bytes payload = EncodeEndpoint(address);
  EXPECT_EQ(payload,
            (Bytes{4, 0x98, 0, 0, 0xf0, 7, 0, 0, 0, 2, 7, 'd', 'a', 't', 'a', '-', '1', 'f', 0x41, 0x9c}));
  EXPECT_EQ(DecodeEndpoint(payload, TwoNodes(), 1), address);
}

TEST(Endpoint, ANameThatThePortHasTakesNoBytes) {
  const EndpointAddress address{"data-f0000098-40001", 40001, 0xf0000098, 7};
  const Bytes payload = EncodeEndpoint(address);
  EXPECT_EQ(payload, (Bytes{4, 0x98, 0, 0, 0xf0, 7, 0, 0, 0, 1, 0x41, 0x9c}));
  EXPECT_EQ(DecodeEndpoint(payload, TwoNodes(), 1), address);
  const EndpointAddress none{"", 40001, 0xf0000098, 0};
  EXPECT_EQ(EncodeEndpoint(none), (Bytes{4, 0x98, 0, 0, 0xf0, 0, 0, 0, 0, 0, 0x41, 0x9c}));
  EXPECT_EQ(DecodeEndpoint(EncodeEndpoint(none), TwoNodes(), 1), none);
}

TEST(Endpoint, RefusesEverythingElse) {
  const Bytes good = EncodeEndpoint({"data-1f", 40001, 7, 7});
  Bytes longer = good;
  longer.push_back(0);
  Bytes wrong_length = good;
  wrong_length[10] = 200;
  Bytes unknown_kind = EncodeEndpoint({"", 40001, 7, 7});
  unknown_kind[9] = 3;
  Bytes of_no_port = EncodeEndpoint({"", 0, 7, 7});
  of_no_port[9] = 1;
  const Bytes in_full = {4,   7,   0,   0,   0,   7,   0,   0,   0,   2,   15,  'd', 'a', 't',
                         'a', '-', '0', '0', '0', '0', '0', '0', '0', '7', '-', '9', 9,   0};
  const Bytes empty_name = {4, 7, 0, 0, 0, 7, 0, 0, 0, 2, 0, 9, 0};
  // A name, never a path.
  const Bytes path = EncodeEndpoint({"../../etc/x", 40001, 7, 7});
  const Bytes dots = EncodeEndpoint({"..", 40001, 7, 7});
  const Bytes long_name = EncodeEndpoint({std::string(33, 'x'), 40001, 7, 7});
  for (const Bytes& bad : {Bytes(), Bytes(good.begin(), good.end() - 1), longer, wrong_length, path, dots,
                           long_name, unknown_kind, of_no_port, in_full, empty_name}) {
    const auto decoded = DecodeEndpoint(bad, TwoNodes(), 1);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, Code::kDisagreement);
    EXPECT_EQ(decoded.error().message, "rank 1 on gpu02 sent a malformed data endpoint");
  }
  Bytes newer = good;
  newer[0] = 5;
  EXPECT_EQ(DecodeEndpoint(newer, TwoNodes(), 1).error().message,
            "rank 1 on gpu02 speaks version 5 of the data protocol, this rank version 4");
}

TEST(SocketEndpoint, ListensOnBothFamiliesAndInADirectoryOfItsOwn) {
  const net::TestBase base;
  {
    const auto endpoint = SocketEndpoint::Open({.tcp = true, .bases = {base.path}});
    ASSERT_TRUE(endpoint) << endpoint.error().message;
    const EndpointAddress& address = (*endpoint)->address();
    EXPECT_NE(address.port, 0);
    EXPECT_NE(address.base, 0U);
    EXPECT_TRUE(net::StartConnect(*net::SocketAddress::FromNumeric("127.0.0.1", address.port)));
    const auto found = (*endpoint)->Find(address.unix_name);
    ASSERT_TRUE(found);
    EXPECT_TRUE(net::StartConnect(*found));
    EXPECT_FALSE((*endpoint)->Find("data-of-nobody"));
    EXPECT_EQ(DecodeEndpoint((*endpoint)->payload(), TwoNodes(), 1), address);
  }
  EXPECT_TRUE(std::filesystem::is_empty(base.path));
}

TEST(SocketEndpoint, HasTheNameOfItsPortInTheFirstBaseOnly) {
  const net::TestBase base;
  const auto first = SocketEndpoint::Open({.tcp = true, .bases = {base.path}});
  const auto second = SocketEndpoint::Open({.tcp = true, .bases = {"/proc", base.path}});
  const auto no_port = SocketEndpoint::Open({.tcp = false, .bases = {base.path}});
  ASSERT_TRUE(first && second && no_port);
  EXPECT_EQ(ViewOf((*first)->address()).name, EndpointView::Name::kOfPort);
  EXPECT_EQ(ViewOf((*second)->address()).name, EndpointView::Name::kOwn);
  EXPECT_EQ(ViewOf((*no_port)->address()).name, EndpointView::Name::kOwn);
  for (const auto& endpoint : {std::cref(first), std::cref(second), std::cref(no_port)})
    EXPECT_TRUE((*first)->Find((*endpoint.get())->address().unix_name));
}

TEST(SocketEndpoint, FindsItsPeersInWhateverDirectoryTheyAre) {
  const net::TestBase base;
  const auto one = SocketEndpoint::Open({.tcp = true, .bases = {base.path}});
  const auto directory = net::PrivateDirectory::MakeIn(base.path);
  const auto other = net::PrivateSocket::Bind(*directory, "data-other", net::PrivateSocket::Kind::kListener);
  ASSERT_TRUE(one && other);
  EXPECT_TRUE((*one)->Find("data-other"));
  EXPECT_TRUE((*one)->FindDirectory(directory->name()));
  EXPECT_FALSE((*one)->FindDirectory("muster-0-0-0"));
}

TEST(SocketEndpoint, WithoutADirectoryThereIsStillTcp) {
  for (const bool tcp : {true, false}) {
    const auto endpoint = SocketEndpoint::Open({.tcp = tcp, .bases = {"/proc"}});
    ASSERT_TRUE(endpoint) << endpoint.error().message;
    EXPECT_EQ((*endpoint)->address().unix_name, "");
    EXPECT_NE((*endpoint)->address().port, 0);
    EXPECT_NE((*endpoint)->address().network_namespace, 0U);
  }
}

// A link that is down for a shorter time than liveness.dead_after ends no data connection.
TEST(SocketEndpoint, KeepsASilentConnectionForAnHour) {
  const auto endpoint = SocketEndpoint::Open({.tcp = true});
  ASSERT_TRUE(endpoint);
  EXPECT_GT(net::KeepAliveSeconds((*endpoint)->tcp_fd()), 3600);
}

TEST(SocketEndpoint, OpensNoPortBeforeOneIsNeeded) {
  const auto endpoint = SocketEndpoint::Open({.tcp = false});
  ASSERT_TRUE(endpoint);
  EXPECT_EQ((*endpoint)->address().port, 0);
  EXPECT_EQ((*endpoint)->tcp_fd(), -1);
  ASSERT_TRUE((*endpoint)->OpenElsewhere());
  EXPECT_NE((*endpoint)->address().port, 0);
  EXPECT_NE((*endpoint)->tcp_fd(), -1);
}

}  // namespace
}  // namespace muster::socket
