#include "bootstrap/store/store_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/tcp_store/server_peer.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::store {
namespace {

// PyTorch before 2.2 begins with its first request.
TEST(StoreKeeper, AnOlderClientsUserIsToldWhatToDo) {
  const LogCapture log;
  net::TestLoop loop;
  rendezvous::TestGroup group(loop, std::vector<std::string>{"a"});
  ASSERT_TRUE(group.AllFormed());
  auto port = StorePort::Hold({.ports = {61000, 64999}, .only_this_node = true});
  ASSERT_TRUE(port);
  const auto address = *net::SocketAddress::FromNumeric("127.0.0.1", port->port());
  const auto keeper = StoreKeeper::Start({*loop, group[0].plane(),
                                          [](const rendezvous::OwnerQuestion&) {
                                            ADD_FAILURE() << "it has not begun as a client does";
                                            return rendezvous::OwnerAnswer{};
                                          },
                                          "127.0.0.1", getuid()},
                                         *std::move(port));
  ASSERT_TRUE(keeper) << keeper.error().message;
  tcp_store::Peer old(loop, address);
  old.Send(tcp_store::Text(std::string("\x03\x05\0\0\0\0\0\0\0init/\x01\0\0\0\0\0\0\0", 22)));
  old.ExpectClosed();
  ASSERT_TRUE(tcp_store::Until(loop, [&] { return log.Has("\n"); }));
  EXPECT_THAT(log.Text(), testing::MatchesRegex(
                              "muster: warning: store 127\\.0\\.0\\.1:[0-9]+: closed the connection from "
                              "127\\.0\\.0\\.1:[0-9]+: it does not begin as a client of PyTorch 2\\.2 or "
                              "later does; a program with PyTorch before 2\\.2 needs its own store: set "
                              "run\\.store=program\n"));
}

}  // namespace
}  // namespace muster::store
