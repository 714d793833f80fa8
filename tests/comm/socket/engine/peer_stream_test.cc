#include "comm/socket/engine/peer_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace muster::socket {
namespace {

class PeerStreamTest : public testing::Test {
 protected:
  PeerStreamTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    connection_ = std::make_unique<Connection>(UniqueFd(ends[0]));
    peer_.Reset(ends[1]);
    stream_.Reset(1, connection_.get());
    call_.operation = Operation::kAllReduce;
    call_.sequence = 3;
  }
  // The peer's message on the wire.
  Bytes Wire(const Call& call, ByteView payload, FrameKind kind = FrameKind::kData) {
    const FrameBytes header = EncodeFrame({kind, call, payload.size()});
    Bytes wire(header.begin(), header.end());
    wire.insert(wire.end(), payload.begin(), payload.end());
    return wire;
  }
  void Arrive(ByteView bytes) {
    EXPECT_EQ(send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // The bytes that the peer has got since the last call.
  Bytes Sent() {
    Bytes bytes(4096);
    const ssize_t got = recv(peer_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }
  StreamEvent Advance() { return stream_.Advance(call_, scratch_); }
  void Expect(std::span<uint8_t> into) {
    IncomingMessage message;
    message.into = into;
    stream_.Queue(message);
  }

  std::unique_ptr<Connection> connection_;
  UniqueFd peer_;
  PeerStream stream_;
  Call call_;
  std::array<uint8_t, 64> scratch_{};
};

TEST_F(PeerStreamTest, CombinesWhatArrivesInPiecesOfAnElement) {
  // More than the scratch holds, and pieces that end within elements.
  std::vector<int64_t> own(41, 100);
  std::vector<int64_t> theirs(41);
  std::vector<int64_t> expected(41);
  for (size_t i = 0; i < theirs.size(); ++i) {
    theirs[i] = static_cast<int64_t>(i) * 0x0101010101;
    expected[i] = std::min<int64_t>(100, theirs[i]);
  }
  Bytes payload(theirs.size() * sizeof(int64_t));
  std::memcpy(payload.data(), theirs.data(), payload.size());
  IncomingMessage message;
  auto* memory = reinterpret_cast<uint8_t*>(own.data());
  message.combine = Combining{DataType::kI64, ReduceOp::kMin, memory, memory, payload.size(), true};
  stream_.Queue(message);
  const Bytes wire = Wire(call_, payload);
  for (size_t at = 0; at < wire.size(); at += 13) {
    Arrive(ByteView(wire).subspan(at, std::min<size_t>(13, wire.size() - at)));
    const StreamEvent event = Advance();
    ASSERT_TRUE(event == StreamEvent::kMoved || event == StreamEvent::kNothing);
  }
  EXPECT_TRUE(stream_.done());
  EXPECT_EQ(own, expected);
}

TEST_F(PeerStreamTest, PassesOnWhatArrivesAndNothingElse) {
  const Bytes payload = {1, 2, 3, 4, 5};
  const Bytes wire = Wire(call_, payload);
  Bytes into(payload.size());
  ArrivedBytes arrival = 0;
  IncomingMessage incoming;
  incoming.into = into;
  incoming.arrival = &arrival;
  stream_.Queue(incoming);
  OutgoingMessage outgoing{EncodeFrame({FrameKind::kData, call_, into.size()}), into};
  outgoing.follows = &arrival;
  stream_.Queue(outgoing);

  EXPECT_EQ(Advance(), StreamEvent::kNothing);
  EXPECT_TRUE(stream_.held());
  EXPECT_FALSE(stream_.MaySend());
  EXPECT_EQ(Sent(), Bytes());

  Arrive(ByteView(wire).first(wire.size() - 2));
  EXPECT_EQ(Advance(), StreamEvent::kMoved);
  EXPECT_EQ(arrival, 3U);
  EXPECT_EQ(Sent(), Bytes(wire.begin(), wire.end() - 2));
  EXPECT_TRUE(stream_.held());

  Arrive(ByteView(wire).last(2));
  EXPECT_EQ(Advance(), StreamEvent::kMoved);
  EXPECT_EQ(arrival, kAllArrived);
  EXPECT_EQ(Sent(), Bytes({4, 5}));
  EXPECT_TRUE(stream_.done());
  EXPECT_FALSE(stream_.held());
}

TEST_F(PeerStreamTest, PassesOnWholeElementsOnly) {
  std::array<int32_t, 2> own = {10, 20};
  const std::array<int32_t, 2> theirs = {1, 2};
  Bytes payload(sizeof theirs);
  std::memcpy(payload.data(), theirs.data(), payload.size());
  const Bytes wire = Wire(call_, payload);
  auto* memory = reinterpret_cast<uint8_t*>(own.data());
  ArrivedBytes arrival = 0;
  IncomingMessage incoming;
  incoming.combine = Combining{DataType::kI32, ReduceOp::kSum, memory, memory, payload.size(), true};
  incoming.arrival = &arrival;
  stream_.Queue(incoming);
  Arrive(ByteView(wire).first(wire.size() - 1));
  EXPECT_EQ(Advance(), StreamEvent::kMoved);
  EXPECT_EQ(arrival, 4U);
  EXPECT_EQ(own[0], 11);
  Arrive(ByteView(wire).last(1));
  EXPECT_EQ(Advance(), StreamEvent::kMoved);
  EXPECT_EQ(arrival, kAllArrived);
  EXPECT_EQ(own[1], 22);
}

// The release of a barrier must not overtake it.
TEST_F(PeerStreamTest, HoldsAnEmptyMessageUntilTheOneBeforeHasCome) {
  ArrivedBytes arrival = 0;
  IncomingMessage incoming;
  incoming.arrival = &arrival;
  stream_.Queue(incoming);
  OutgoingMessage outgoing{EncodeFrame({FrameKind::kData, call_, 0}), {}};
  outgoing.follows = &arrival;
  stream_.Queue(outgoing);
  EXPECT_EQ(Advance(), StreamEvent::kNothing);
  EXPECT_EQ(Sent(), Bytes());
  Arrive(Wire(call_, {}));
  EXPECT_EQ(Advance(), StreamEvent::kMoved);
  EXPECT_EQ(Sent(), Wire(call_, {}));
  EXPECT_TRUE(stream_.done());
}

TEST_F(PeerStreamTest, TakesMessagesInOrderAndLeavesWhatIsNotDueYet) {
  Arrive(Wire(call_, Bytes{1, 2}));
  Arrive(Wire(call_, Bytes{}));
  Call later = call_;
  later.sequence = 4;
  Arrive(Wire(later, Bytes{3}));
  Bytes first(2);
  Expect(first);
  Expect({});
  EXPECT_EQ(Advance(), StreamEvent::kMoved);
  EXPECT_TRUE(stream_.done());
  EXPECT_EQ(first, (Bytes{1, 2}));
  stream_.Reset(1, connection_.get());
  Bytes grown;
  IncomingMessage message;
  message.grow = &grown;
  stream_.Queue(message);
  call_ = later;
  EXPECT_EQ(Advance(), StreamEvent::kMoved);
  EXPECT_EQ(grown, Bytes{3});
}

TEST_F(PeerStreamTest, TellsWhatIsWrongWithAMessage) {
  Bytes one(1);
  Expect(one);
  EXPECT_EQ(Advance(), StreamEvent::kNothing);
  Call other = call_;
  other.operation = Operation::kBarrier;
  Arrive(Wire(other, Bytes{1}));
  EXPECT_EQ(Advance(), StreamEvent::kMismatch);
  EXPECT_EQ(connection_->header().call, other);
}

TEST_F(PeerStreamTest, TellsAWrongLength) {
  Bytes one(1);
  Expect(one);
  Arrive(Wire(call_, Bytes{1, 2}));
  EXPECT_EQ(Advance(), StreamEvent::kWrongLength);
}

TEST_F(PeerStreamTest, RefusesALengthThatNoMemoryHolds) {
  Bytes grown;
  IncomingMessage message;
  message.grow = &grown;
  stream_.Queue(message);
  const FrameBytes header = EncodeFrame({FrameKind::kData, call_, UINT64_MAX});
  Arrive(header);
  EXPECT_EQ(Advance(), StreamEvent::kNoMemory);
}

// The operator new of ThreadSanitizer and AddressSanitizer ends a process that has no memory, with allocator_may_return_null as
// well.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// Memory for it is taken as it comes: a length alone costs nothing.
TEST_F(PeerStreamTest, TakesMemoryForWhatHasCome) {
  Bytes grown;
  IncomingMessage message;
  message.grow = &grown;
  stream_.Queue(message);
  const FrameBytes header = EncodeFrame({FrameKind::kData, call_, uint64_t{1} << 36});
  Arrive(header);
  const StreamEvent event = Advance();
  EXPECT_TRUE(event == StreamEvent::kMoved || event == StreamEvent::kNoMemory);
  EXPECT_LE(grown.size(), size_t{16} << 20);
}
#endif

TEST_F(PeerStreamTest, GrowsAsAMessageComes) {
  Bytes payload((size_t{5} << 20) + 77);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<uint8_t>(i * 31 + i / 4099);
  Bytes grown;
  IncomingMessage message;
  message.grow = &grown;
  stream_.Queue(message);
  const Bytes wire = Wire(call_, payload);
  size_t first = 0;
  for (size_t sent = 0; !stream_.done();) {
    const ByteView rest = ByteView(wire).subspan(sent);
    const ssize_t bytes = send(peer_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    sent += bytes > 0 ? static_cast<size_t>(bytes) : 0;
    const StreamEvent event = Advance();
    ASSERT_TRUE(event == StreamEvent::kMoved || event == StreamEvent::kNothing);
    if (first == 0) first = grown.size();
  }
  EXPECT_LT(first, payload.size());
  EXPECT_TRUE(grown == payload);
}

TEST_F(PeerStreamTest, TellsAGoodbyeFromAnEnd) {
  Bytes one(1);
  Expect(one);
  Arrive(Wire(call_, {}, FrameKind::kLeave));
  EXPECT_EQ(Advance(), StreamEvent::kLeave);
  connection_->FinishMessage();
  peer_.Reset();
  EXPECT_EQ(Advance(), StreamEvent::kBroken);
}

TEST_F(PeerStreamTest, ReceivesWhileItCannotSend) {
  const Bytes large(8 << 20);
  stream_.Queue(OutgoingMessage{EncodeFrame({FrameKind::kData, call_, large.size()}), large, 0});
  Bytes one(1);
  Expect(one);
  EXPECT_EQ(Advance(), StreamEvent::kMoved);
  EXPECT_EQ(Advance(), StreamEvent::kNothing);
  Arrive(Wire(call_, Bytes{7}));
  EXPECT_EQ(Advance(), StreamEvent::kMoved);
  EXPECT_EQ(one, Bytes{7});
  EXPECT_TRUE(stream_.WantsToSend());
  EXPECT_FALSE(stream_.WantsToReceive());
}

}  // namespace
}  // namespace muster::socket
