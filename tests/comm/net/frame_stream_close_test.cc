// How a FrameStream is closed by its owner: after its last frames, or after the peer.
#include <gmock/gmock.h>

#include "tests/comm/net/frame_stream_fixture.h"

namespace muster::net {
namespace {

using testing::ElementsAre;

TEST_F(FrameStreamTest, CloseAfterFlushDeliversAndCallsNobody) {
  SendFewAtATime();
  Start();
  const std::string big(1000000, 'x');
  stream->Send(AsBytes(big));
  stream->CloseAfterFlush();
  EXPECT_TRUE(stream->open());
  Write(Framed("ignored"));
  std::string got;
  ASSERT_TRUE(loop.Until([&] {
    got += ReadAll();
    return !stream->open();
  }));
  got += ReadAll();
  EXPECT_EQ(got.size(), big.size() + 4);
  EXPECT_TRUE(frames.empty());
  EXPECT_FALSE(closed);
}

TEST_F(FrameStreamTest, CloseAfterPeerReportsTheEndIfRequested) {
  SendFewAtATime();
  Start();
  stream->Send(AsBytes(std::string(1000000, 'x')));
  int ends = 0;
  stream->CloseAfterPeer([] { ADD_FAILURE() << "the second call replaces it"; });
  stream->CloseAfterPeer([&ends] { ++ends; });
  std::string got;
  while (got.size() < 1000004) {
    got += ReadAll();
    loop.Settle();
    ASSERT_TRUE(stream->open());
  }
  EXPECT_EQ(read(far.get(), room.data(), 1), 0) << "it sends no more";
  loop.Settle();
  EXPECT_EQ(ends, 0) << "the peer is still there";
  far.Reset();
  ASSERT_TRUE(loop.Until([&] { return ends == 1; }));
  EXPECT_FALSE(stream->open());
  EXPECT_FALSE(closed);
  stream->CloseAfterPeer([&ends] { ++ends; });
  EXPECT_EQ(ends, 2) << "it is closed";
}

// The kernel resets a connection that is closed with bytes unread, and drops what it has not sent.
TEST_F(FrameStreamTest, CloseAfterPeerLosesNoLastBytesToFramesOfThePeer) {
  auto [near, other] = TcpPairWithALongQueue();
  stream = std::make_unique<FrameStream>(*loop, std::move(near), 100);
  FrameStream peer(*loop, std::move(other), 100000);
  Start();
  peer.Send(AsBytes("before"));
  stream->Send(AsBytes(std::string(100000, 'x')));
  ASSERT_TRUE(stream->flushed());
  stream->CloseAfterPeer();
  peer.Send(AsBytes("behind"));
  loop.Settle();
  size_t got = 0;
  peer.Start([&got](ByteView frame) { got = frame.size(); }, [](const Error&) {});
  EXPECT_TRUE(loop.Until([&] { return !peer.open() && !stream->open(); }));
  EXPECT_EQ(got, 100000);
  EXPECT_TRUE(frames.empty());
  EXPECT_FALSE(closed);
}

TEST_F(FrameStreamTest, CloseAfterFlushWithNothingToSayClosesAtOnce) {
  Start();
  stream->CloseAfterFlush();
  EXPECT_FALSE(stream->open());
  EXPECT_FALSE(closed);
}

TEST_F(FrameStreamTest, CloseAfterFlushEndsWhereThePeerIsGone) {
  SendFewAtATime();
  Start();
  stream->Send(AsBytes(std::string(1000000, 'x')));
  stream->CloseAfterFlush();
  far.Reset();
  ASSERT_TRUE(loop.Until([&] { return !stream->open(); }));
  EXPECT_FALSE(closed);
}

}  // namespace
}  // namespace muster::net
