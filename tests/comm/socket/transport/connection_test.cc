#include "comm/socket/transport/connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <numeric>

#include "tests/comm/net/test_base.h"

namespace muster::socket {
namespace {

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = std::make_unique<Connection>(UniqueFd(ends[0]));
    theirs_ = std::make_unique<Connection>(UniqueFd(ends[1]));
  }
  static OutgoingMessage Message(uint64_t sequence, ByteView payload) {
    Frame frame;
    frame.call.sequence = sequence;
    frame.payload = payload.size();
    return {EncodeFrame(frame), payload, 0};
  }

  std::unique_ptr<Connection> ours_;
  std::unique_ptr<Connection> theirs_;
};

TEST_F(ConnectionTest, KeepsTheHeaderUntilTheMessageIsFinished) {
  EXPECT_EQ(ours_->ReadHeader(), Flow::kBlocked);
  const Bytes first = {1, 2, 3};
  OutgoingMessage one = Message(1, first);
  OutgoingMessage two = Message(2, {});
  EXPECT_EQ(theirs_->Send(one), Flow::kDone);
  EXPECT_EQ(theirs_->Send(two), Flow::kDone);
  EXPECT_EQ(ours_->ReadHeader(), Flow::kDone);
  EXPECT_EQ(ours_->ReadHeader(), Flow::kDone);
  EXPECT_EQ(ours_->header().call.sequence, 1U);
  Bytes got(3);
  size_t count = 0;
  EXPECT_EQ(ours_->ReadPayload(got, count), Flow::kDone);
  EXPECT_EQ(got, first);
  ours_->FinishMessage();
  EXPECT_EQ(ours_->ReadHeader(), Flow::kDone);
  EXPECT_EQ(ours_->header().call.sequence, 2U);
}

TEST_F(ConnectionTest, MovesMoreThanTheKernelHoldsInPieces) {
  Bytes payload(4 << 20);
  std::iota(payload.begin(), payload.end(), uint8_t{0});
  OutgoingMessage message = Message(1, payload);
  EXPECT_EQ(theirs_->Send(message), Flow::kBlocked);
  EXPECT_EQ(ours_->ReadHeader(), Flow::kDone);
  Bytes got(payload.size());
  size_t done = 0;
  while (done < got.size()) {
    size_t count = 0;
    const Flow flow = ours_->ReadPayload(std::span(got).subspan(done), count);
    ASSERT_NE(flow, Flow::kBroken);
    ASSERT_GT(count, 0U);
    done += count;
    ASSERT_NE(theirs_->Send(message), Flow::kBroken);
  }
  EXPECT_TRUE(got == payload);
}

TEST_F(ConnectionTest, SaysGoodbyeBetweenMessagesOnly) {
  theirs_->SendLeave(7);
  EXPECT_TRUE(ours_->HoldsLeave());
  EXPECT_EQ(ours_->ReadHeader(), Flow::kDone);
  EXPECT_EQ(ours_->header().kind, FrameKind::kLeave);
  EXPECT_EQ(ours_->header().call.communicator, 7U);
  ours_->FinishMessage();
  EXPECT_EQ(ours_->ReadHeader(), Flow::kBroken);

  const Bytes payload(4 << 20);
  OutgoingMessage message = Message(1, payload);
  EXPECT_EQ(ours_->Send(message), Flow::kBlocked);
  ours_->SendLeave(7);
  EXPECT_EQ(theirs_->ReadHeader(), Flow::kDone);
  EXPECT_EQ(theirs_->header().kind, FrameKind::kData);
  EXPECT_FALSE(theirs_->HoldsLeave());
}

TEST_F(ConnectionTest, TakesGarbageForABrokenConnection) {
  const Bytes garbage(kFrameHeaderBytes, 0x20);
  EXPECT_EQ(send(theirs_->fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(garbage.size()));
  EXPECT_EQ(ours_->ReadHeader(), Flow::kBroken);
}

TEST_F(ConnectionTest, NoticesThatThePeerHasGone) {
  theirs_.reset();
  EXPECT_EQ(ours_->ReadHeader(), Flow::kBroken);
  OutgoingMessage message = Message(1, {});
  EXPECT_EQ(ours_->error(), 0);
  EXPECT_EQ(ours_->Send(message), Flow::kBroken);
}

TEST_F(ConnectionTest, KeepsTheFirstReasonForItsEnd) {
  ASSERT_TRUE(auth::CryptoReady());
  for (const bool sealed : {false, true}) {
    ProvenLink link{net::SocketWithError()};
    if (sealed) link.keys.emplace();
    Connection connection(std::move(link));
    EXPECT_EQ(connection.ReadHeader(), Flow::kBroken);
    OutgoingMessage message = Message(1, {});
    EXPECT_EQ(connection.Send(message), Flow::kBroken);
    EXPECT_EQ(connection.error(), ECONNREFUSED) << sealed;
  }
}

}  // namespace
}  // namespace muster::socket
