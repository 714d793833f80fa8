// A client whose answers the kernel does not take.
#include "comm/rendezvous/tcp_store/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "comm/rendezvous/tcp_store/request.h"
#include "tests/comm/net/test_loop.h"

namespace muster::tcp_store {
namespace {

// Of packets: send(2) of one that is longer than the send buffer fails with EMSGSIZE and the connection lives on, as it
// does with ENOBUFS.
class FailingSendTest : public testing::Test {
 protected:
  FailingSendTest() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    const int few = 100'000;
    EXPECT_EQ(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &few, sizeof few), 0);
    session = std::make_shared<Session>(host, 1, UniqueFd(fds[0]), net::SocketAddress());
    client.Reset(fds[1]);
    EXPECT_TRUE(session->AwaitGreeting());
    Send({Operation::kValidate, {}, kValidationNumber});
    EXPECT_TRUE(loop.Until([this] { return greeted; }));
    session->Start(keys, -1);
  }
  void Send(const Request& request) {
    Bytes bytes;
    Encode(request, bytes);
    EXPECT_EQ(send(client.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  ssize_t Receive() {
    std::array<uint8_t, 65536> bytes;
    return recv(client.get(), bytes.data(), bytes.size(), 0);
  }
  // A key whose value is longer than the send buffer, of appended parts that fit.
  void SetTooLong() {
    const std::string part(60'000, 'x');
    for (int i = 0; i < 50; ++i) {
      Send({Operation::kAppend, {"/long", part}});
      loop.Settle();
    }
  }

  net::TestLoop loop;
  Budget memory{"keys", uint64_t{1} << 30};
  Budget buffers{"buffers", uint64_t{1} << 30};
  ProgramKeys keys{Limits{}, memory, 0};
  bool greeted = false;
  std::optional<Error> closed;
  SessionHost host{.loop = *loop,
                   .limits = {},
                   .buffers = buffers,
                   .greeted = [this](ClientId) { greeted = true; },
                   .wake = [](ClientId) {},
                   .closed = [this](ClientId, const Error& reason) { closed = reason; },
                   .received = Bytes(65536)};
  std::shared_ptr<Session> session;
  UniqueFd client;
};

TEST_F(FailingSendTest, AnAnswerThatCannotBeSentEndsTheConnection) {
  SetTooLong();
  EXPECT_FALSE(closed);
  Send({Operation::kGet, {"/long"}});
  ASSERT_TRUE(loop.Until([this] { return closed.has_value(); }));
  EXPECT_EQ(*closed, (Error{Code::kSystem, "the connection broke: Message too long", ""}));
  EXPECT_EQ(Receive(), 0) << "nothing follows the answer that was lost";
}

TEST_F(FailingSendTest, WhatTheClientSentLastIsAppliedBefore) {
  SetTooLong();
  Send({Operation::kGet, {"/long"}});
  Send({Operation::kNumKeys, {}});
  Send({Operation::kSet, {"/last", "word"}});
  ASSERT_TRUE(loop.Until([this] { return closed.has_value(); }));
  EXPECT_EQ(*closed, (Error{Code::kSystem, "the connection broke: Message too long", ""}));
  EXPECT_EQ(keys.keys(), 2u);
  EXPECT_EQ(Receive(), 0) << "nothing follows the answer that was lost";
}

}  // namespace
}  // namespace muster::tcp_store
