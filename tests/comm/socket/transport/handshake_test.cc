#include "comm/socket/transport/handshake.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <utility>

#include "comm/base/unique_fd.h"

namespace muster::socket {
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

TEST_F(HandshakeTest, HelloAndReplyAreTheseBytes) {
  ConnectorHandshake connecting(high_, {0x0102030405060708, Purpose::kPointToPoint, 2}, 3);
  EXPECT_EQ(connecting.Start(connector()), Shake::kDone);
  Bytes hello(kHelloBytes + 1);
  ASSERT_EQ(recv(acceptor(), hello.data(), hello.size(), 0), static_cast<ssize_t>(kHelloBytes));
  EXPECT_EQ(Bytes(hello.begin(), hello.begin() + 22),
            (Bytes{'M', 'U', 'S', 'H', 5, 0, 0, 0, 2, 0, 0, 0, 2, 8, 7, 6, 5, 4, 3, 2, 1, 3}));
  hello.resize(kHelloBytes);
  Write(connector(), hello);
  AcceptorHandshake accepting(low_, 1);
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kPending);
  Bytes reply(kReplyBytes + 1);
  ASSERT_EQ(recv(connector(), reply.data(), reply.size(), 0), static_cast<ssize_t>(kReplyBytes));
  EXPECT_EQ(reply.front(), 1) << "the cipher";
}

TEST_F(HandshakeTest, ShowsTheConnectorAStrangerWhoAnswers) {
  ConnectorHandshake connecting(high_, to_low_);
  EXPECT_EQ(connecting.Start(connector()), Shake::kDone);
  low_.key.fill(8);
  AcceptorHandshake accepting(low_);
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kPending);
  EXPECT_EQ(connecting.ReadReply(connector()), Shake::kRejected);
  EXPECT_EQ(connecting.reason(), "the process that answered as rank 2 does not have the key of this group");
}

TEST_F(HandshakeTest, RejectsAConnectorWithoutTheKey) {
  ConnectorHandshake connecting(high_, to_low_);
  EXPECT_EQ(connecting.Start(connector()), Shake::kDone);
  AcceptorHandshake accepting(low_);
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kPending);
  Write(connector(), Bytes(32, 0));
  EXPECT_EQ(accepting.Advance(acceptor()), Shake::kRejected);
  EXPECT_EQ(accepting.reason(), "the process that connected as rank 5 does not have the key of this group");
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

// Carries a whole handshake; `change` sees the hello and the reply on their way.
class SealedHandshakeTest : public HandshakeTest {
 protected:
  using Change = std::function<void(Bytes& message)>;
  std::string Meet(auth::CipherSet connector_has, auth::CipherSet acceptor_has, const Change& hello = {},
                   const Change& reply = {}) {
    SetUpAgain();
    connecting_ = std::make_unique<ConnectorHandshake>(high_, to_low_, connector_has);
    accepting_ = std::make_unique<AcceptorHandshake>(low_, acceptor_has);
    EXPECT_EQ(connecting_->Start(connector()), Shake::kDone);
    if (hello) Alter(acceptor(), connector(), kHelloBytes, hello);
    if (accepting_->Advance(acceptor()) == Shake::kRejected) return accepting_->reason();
    if (reply) Alter(connector(), acceptor(), kReplyBytes, reply);
    if (connecting_->ReadReply(connector()) == Shake::kRejected) return connecting_->reason();
    EXPECT_EQ(connecting_->Prove(connector()), Shake::kDone);
    EXPECT_EQ(accepting_->Advance(acceptor()), Shake::kDone);
    EXPECT_EQ(accepting_->Take(acceptor()), Shake::kDone);
    EXPECT_EQ(connecting_->ReadTaken(connector()), Shake::kDone);
    return "";
  }
  void SetUpAgain() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    connector_fd_.Reset(ends[0]);
    acceptor_fd_.Reset(ends[1]);
  }
  // Takes the message out of where it has arrived and puts it there again.
  void Alter(int at, int from, size_t size, const Change& change) {
    Bytes message(size);
    EXPECT_EQ(recv(at, message.data(), size, 0), static_cast<ssize_t>(size));
    change(message);
    Write(from, message);
  }

  std::unique_ptr<ConnectorHandshake> connecting_;
  std::unique_ptr<AcceptorHandshake> accepting_;
};

TEST_F(SealedHandshakeTest, AgreesOnTheBetterCipherThatBothHave) {
  const auth::CipherSet chacha = 1;
  const auth::CipherSet both = 3;
  EXPECT_EQ(Meet(both, both), "");
  ASSERT_TRUE(connecting_->Keys() && accepting_->Keys());
  EXPECT_EQ(connecting_->Keys()->cipher, auth::Cipher::kAes256Gcm);
  EXPECT_EQ(accepting_->Keys()->cipher, auth::Cipher::kAes256Gcm);
  for (const auto& [one, other] : {std::pair{chacha, both}, std::pair{both, chacha}}) {
    EXPECT_EQ(Meet(one, other), "");
    ASSERT_TRUE(connecting_->Keys() && accepting_->Keys());
    EXPECT_EQ(connecting_->Keys()->cipher, auth::Cipher::kChaCha20Poly1305);
    EXPECT_TRUE(
        auth::EqualInConstantTime(connecting_->Keys()->outgoing.view(), accepting_->Keys()->incoming.view()));
    EXPECT_TRUE(
        auth::EqualInConstantTime(connecting_->Keys()->incoming.view(), accepting_->Keys()->outgoing.view()));
  }
  EXPECT_EQ(Meet(0, 0), "");
  EXPECT_FALSE(connecting_->Keys() || accepting_->Keys());
}

TEST_F(SealedHandshakeTest, OneThatSealsAndOneThatDoesNotPart) {
  EXPECT_EQ(Meet(3, 0), "it does not seal its data as this rank does");
  EXPECT_EQ(Meet(0, 3), "it does not seal its data as this rank does");
}

TEST_F(SealedHandshakeTest, NobodyOnTheWayCanMakeItWeaker) {
  constexpr size_t kCiphersAt = 21;
  const auto offer = [](uint8_t ciphers) {
    return [ciphers](Bytes& hello) {
      EXPECT_EQ(hello[kCiphersAt], 3);
      hello[kCiphersAt] = ciphers;
    };
  };
  const auto choose = [](uint8_t cipher) { return [cipher](Bytes& reply) { reply[0] = cipher; }; };
  const char* unproven = "the process that answered as rank 2 does not have the key of this group";
  EXPECT_EQ(Meet(3, 3, offer(1)), unproven) << "AES taken out of the offer";
  EXPECT_EQ(Meet(3, 3, offer(1), choose(2)), unproven) << "and put back into the answer";
  EXPECT_EQ(Meet(3, 3, {}, choose(1)), unproven);
  EXPECT_EQ(Meet(3, 3, {}, choose(0)), unproven) << "sealing taken out of the answer";
  EXPECT_EQ(Meet(3, 3, offer(0)), "it does not seal its data as this rank does");
  EXPECT_EQ(Meet(3, 0, offer(0)), unproven) << "as if nothing had been asked for";
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
      {high_, {42, Purpose::kCollective, 3}, "it expects rank 3"},
      {outsider, to_low_, "it claims to be rank 8"},
      {low_, to_low_, "it claims to be rank 2"},
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
}  // namespace muster::socket
