#include "comm/socket/handshake.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <utility>

#include "comm/base/unique_fd.h"

namespace muster {
namespace {

class HandshakeTest : public testing::Test {
 protected:
  HandshakeTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    connector_fd_.Reset(ends[0]);
    acceptor_fd_.Reset(ends[1]);
    low_ = {2, 8, {}, "0011"};
    low_.key.fill(7);
    high_ = low_;
    high_.rank = 5;
  }
  int connector() const { return connector_fd_.get(); }
  int acceptor() const { return acceptor_fd_.get(); }
  void Write(int fd, ByteView bytes) {
    EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  UniqueFd connector_fd_;
  UniqueFd acceptor_fd_;
  GroupMember low_;   // accepts
  GroupMember high_;  // connects
  const LinkKey to_low_{42, Purpose::kPointToPoint, 2};
};

TEST_F(HandshakeTest, LetsAMemberIn) {
  ConnectorHandshake connecting(high_, to_low_);
  AcceptorHandshake accepting(low_);
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kPending);
  EXPECT_EQ(connecting.Start(connector()), Shake::kDone);
  EXPECT_EQ(connecting.ReadReply(connector()), Shake::kPending);
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kPending);
  EXPECT_TRUE(accepting.greeted());
  EXPECT_EQ(connecting.ReadReply(connector()), Shake::kDone);
  EXPECT_EQ(connecting.Prove(connector()), Shake::kDone);
  EXPECT_EQ(connecting.ReadTaken(connector()), Shake::kPending);
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kDone);
  EXPECT_EQ(accepting.Take(acceptor()), Shake::kDone);
  EXPECT_EQ(accepting.key(), (LinkKey{42, Purpose::kPointToPoint, 5}));
  EXPECT_EQ(connecting.ReadTaken(connector()), Shake::kDone);
}

TEST_F(HandshakeTest, ShowsTheConnectorAStrangerWhoAnswers) {
  ConnectorHandshake connecting(high_, to_low_);
  EXPECT_EQ(connecting.Start(connector()), Shake::kDone);
  low_.key.fill(8);
  AcceptorHandshake accepting(low_);
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kPending);
  EXPECT_EQ(connecting.ReadReply(connector()), Shake::kRejected);
  EXPECT_EQ(connecting.reason(), "what answered as rank 2 does not know the key of this group");
}

TEST_F(HandshakeTest, RejectsAConnectorWithoutTheKey) {
  ConnectorHandshake connecting(high_, to_low_);
  EXPECT_EQ(connecting.Start(connector()), Shake::kDone);
  AcceptorHandshake accepting(low_);
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kPending);
  Write(connector(), Bytes(32, 0));
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kRejected);
  EXPECT_EQ(accepting.reason(), "what connected as rank 5 does not know the key of this group");
}

TEST_F(HandshakeTest, BindsTheProofToItsPurpose) {
  ConnectorHandshake connecting(high_, to_low_);
  EXPECT_EQ(connecting.Start(connector()), Shake::kDone);
  Bytes hello(kHelloBytes);
  EXPECT_EQ(recv(acceptor(), hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  hello[12] = static_cast<uint8_t>(Purpose::kCollective);
  Write(connector(), hello);
  AcceptorHandshake accepting(low_);
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kPending);
  EXPECT_EQ(connecting.ReadReply(connector()), Shake::kRejected);
}

TEST_F(HandshakeTest, SaysWhoIsNotWelcome) {
  struct Case {
    GroupMember from;
    LinkKey to;
    const char* reason;
  };
  GroupMember outsider = high_;
  outsider.rank = 8;
  const Case cases[] = {
      {high_, {42, Purpose::kCollective, 3}, "it looks for rank 3"},
      {outsider, to_low_, "it says it is rank 8"},
      {low_, to_low_, "it says it is rank 2"},
      {high_, {42, static_cast<Purpose>(9), 2}, "it does not speak muster's data protocol"}};
  for (const Case& c : cases) {
    ConnectorHandshake connecting(c.from, c.to);
    EXPECT_EQ(connecting.Start(connector()), Shake::kDone);
    AcceptorHandshake accepting(low_);
    EXPECT_EQ(accepting.Advance(acceptor()), Shake::kRejected);
    EXPECT_EQ(accepting.reason(), c.reason);
    EXPECT_FALSE(accepting.greeted());
  }
}

TEST_F(HandshakeTest, KnowsGarbageByItsFirstBytes) {
  AcceptorHandshake accepting(low_);
  Write(connector(), AsBytes("GET "));
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kRejected);
  EXPECT_EQ(accepting.reason(), "it does not speak muster's data protocol");
}

TEST_F(HandshakeTest, SurvivesBytesThatComeOneByOneAndNoticesTheEnd) {
  ConnectorHandshake connecting(high_, to_low_);
  EXPECT_EQ(connecting.Start(connector()), Shake::kDone);
  Bytes hello(kHelloBytes);
  EXPECT_EQ(recv(acceptor(), hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  AcceptorHandshake accepting(low_);
  for (const uint8_t byte : hello) {
    Write(connector(), Bytes{byte});
    EXPECT_EQ(accepting.Advance(acceptor()), Shake::kPending);
  }
  EXPECT_TRUE(accepting.greeted());
  connector_fd_.Reset();
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kClosed);
}

}  // namespace
}  // namespace muster
