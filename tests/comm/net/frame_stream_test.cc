#include "comm/net/frame_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "tests/comm/net/frame_stream_fixture.h"

namespace {

bool kernel_takes_parts = false;

}  // namespace

// Instead of libc's: the kernel may take less than it has room for, if it is short of memory.
extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (!kernel_takes_parts) return syscall(SYS_sendmsg, fd, message, flags);
  return syscall(SYS_sendto, fd, message->msg_iov->iov_base, std::min<size_t>(message->msg_iov->iov_len, 1),
                 flags, nullptr, 0);
}

namespace muster::net {
namespace {

using testing::ElementsAre;

auth::SecretKey KeyOf(uint8_t number) { return auth::DeriveKey({}, {ByteView(&number, 1)}); }

TEST_F(FrameStreamTest, AFrameArrivesByteByByte) {
  Start();
  for (const uint8_t byte : Framed("hello")) {
    EXPECT_TRUE(frames.empty());
    Write(Bytes{byte});
    loop.Settle();
  }
  EXPECT_THAT(frames, ElementsAre("hello"));
}

TEST_F(FrameStreamTest, ManyArriveAtOnceAndEmptyOnesToo) {
  Start();
  Bytes all = Framed("one");
  for (const Bytes& next : {Framed(""), Framed("three"), Framed("part")}) {
    all.insert(all.end(), next.begin(), next.end());
  }
  all.resize(all.size() - 2);
  Write(all);
  loop.Settle();
  EXPECT_THAT(frames, ElementsAre("one", "", "three"));
  Write(AsBytes("rt"));
  loop.Settle();
  EXPECT_THAT(frames, ElementsAre("one", "", "three", "part"));
}

// The peer writes a new frame for each that is read: there is always as much as one read takes.
TEST_F(FrameStreamTest, APeerThatWritesWithoutAPauseLeavesOtherWorkItsTurn) {
  constexpr int kEnough = 1000;
  Bytes frame(64 << 10);
  frame[0] = 0xfc;
  frame[1] = 0xff;
  int read = 0;
  int read_before = 0;
  stream->set_longest_frame(frame.size());
  stream->Start(
      [&](ByteView) {
        if (++read == 1) loop->Post([&] { read_before = read; });
        if (read_before == 0 && read < kEnough) Write(frame);
      },
      [](const Error&) { ADD_FAILURE(); });
  Write(frame);
  Write(frame);
  ASSERT_TRUE(loop.Until([&] { return read_before != 0; }));
  EXPECT_LE(read_before, 2 * 16) << "two rounds";
}

// One that is alone takes the buffer it came in along; what comes next has another.
TEST_F(FrameStreamTest, AFrameThatIsAloneLeavesNothingBehind) {
  stream->set_longest_frame(300000);
  Start();
  const std::string big(200000, 'x');
  for (const std::string& text : {std::string("one"), big, std::string("three")}) {
    Bytes framed = Framed(text);
    framed[2] = static_cast<uint8_t>(text.size() >> 16);
    for (size_t at = 0; at < framed.size(); at += 50000) {
      Write(ByteView(framed).subspan(at, std::min<size_t>(50000, framed.size() - at)));
      loop.Settle();
    }
  }
  EXPECT_THAT(frames, ElementsAre("one", big, "three"));
}

TEST_F(FrameStreamTest, AHandlerMayDestroyTheStreamAndReadOn) {
  stream->Start(
      [this](ByteView frame) {
        stream->Send(frame);
        stream.reset();
        frames.emplace_back(AsText(frame));  // still there
      },
      [this](const Error& reason) { closed = reason; });
  Write(Framed("the last"));
  loop.Settle();
  EXPECT_THAT(frames, ElementsAre("the last"));
  EXPECT_FALSE(closed);
}

TEST_F(FrameStreamTest, SendsLengthAndBytes) {
  Start();
  stream->Send(AsBytes("hello"));
  EXPECT_TRUE(stream->flushed());
  EXPECT_EQ(ReadAll(), std::string("\5\0\0\0hello", 9));
}

TEST_F(FrameStreamTest, ATooLongFrameClosesBeforeItIsRead) {
  Start();
  Write(AsBytes("GET / HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
  EXPECT_EQ(*closed,
            (Error{Code::kAuthentication, "a message of 542393671 bytes is longer than allowed here", ""}));
  EXPECT_FALSE(stream->open());
  EXPECT_TRUE(frames.empty());
}

TEST_F(FrameStreamTest, TheLimitIsInclusiveAndCanBeRaised) {
  Start();
  Write(Framed(std::string(100, 'a')));
  loop.Settle();
  ASSERT_EQ(frames.size(), 1u);
  stream->set_longest_frame(101);
  Write(Framed(std::string(101, 'a')));
  loop.Settle();
  ASSERT_EQ(frames.size(), 2u);
  Write(Framed(std::string(102, 'a')));
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
}

TEST_F(FrameStreamTest, AnEndHasNoMessage) {
  Start();
  Write(Framed("last words"));
  far.Reset();
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
  EXPECT_EQ(*closed, (Error{Code::kSystem, "", ""}));
  EXPECT_THAT(frames, ElementsAre("last words"));
}

TEST_F(FrameStreamTest, NorHasOneInsideAFrame) {
  Start();
  Write(Bytes{5, 0, 0, 0, 'h'});
  far.Reset();
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
  EXPECT_EQ(*closed, (Error{Code::kSystem, "", ""}));
}

TEST_F(FrameStreamTest, NorHasAResetAndWhatThePeerSentBeforeIsDelivered) {
  Start();
  stream->Send(AsBytes("it will not read this"));
  Write(Framed("last words"));
  far.Reset();  // with something unread: a reset
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
  EXPECT_THAT(frames, ElementsAre("last words"));
  EXPECT_EQ(*closed, (Error{Code::kSystem, "", ""}));
}

TEST_F(FrameStreamTest, SendingToNobodyIsReportedByTheReadSide) {
  Start();
  Write(Framed("last words"));
  far.Reset();
  stream->Send(AsBytes("are you there?"));
  stream->Send(AsBytes("hello?"));
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
  EXPECT_THAT(frames, ElementsAre("last words"));
  stream->Send(AsBytes("closed"));
}

// A packet that is longer than the send buffer: send(2) fails with EMSGSIZE and the connection lives on, as
// it does with ENOBUFS.
class FailingSendTest : public FrameStreamTest {
 protected:
  FailingSendTest() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    stream = std::make_unique<FrameStream>(*loop, UniqueFd(fds[0]), 1000);
    far.Reset(fds[1]);
    Start();
  }
  const std::string too_long = std::string(size_t{4} << 20, 'x');
  const Error broken{Code::kSystem, "the connection broke: Message too long", ""};
};

TEST_F(FailingSendTest, AFrameThatCannotBeSentEndsTheStream) {
  stream->Send(AsBytes("one"));
  stream->Send(AsBytes(too_long));
  stream->Send(AsBytes("three"));
  EXPECT_TRUE(stream->open()) << "whoever sends is not prepared to lose it";
  EXPECT_EQ(ReadAll(), std::string("\3\0\0\0one", 7));
  EXPECT_EQ(ReadAll(), "") << "nothing follows the frame that was lost";
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
  EXPECT_EQ(*closed, broken);
}

TEST_F(FailingSendTest, SoDoesOneThatWasQueued) {
  int queued = 0;
  for (; stream->flushed(); ++queued) stream->Send(AsBytes("fills the peer's queue"));
  stream->Send(AsBytes(too_long));
  ASSERT_TRUE(loop.Until([&] {
    while (!ReadAll().empty()) continue;
    return closed.has_value();
  }));
  EXPECT_GT(queued, 1);
  EXPECT_EQ(*closed, broken);
}

TEST_F(FailingSendTest, WhatThePeerSaidLastIsHeardBefore) {
  Write(Framed("last words"));
  stream->Send(AsBytes(too_long));
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
  EXPECT_THAT(frames, ElementsAre("last words"));
}

TEST_F(FailingSendTest, CloseAfterFlushEnds) {
  stream->Send(AsBytes(too_long));
  stream->CloseAfterFlush();
  loop.Settle();
  EXPECT_FALSE(stream->open());
  EXPECT_FALSE(closed);
}

TEST_F(FrameStreamTest, APeerThatDoesNotReadLosesTheConnection) {
  Start();
  // One frame may be longer than what may be queued.
  stream->Send(AsBytes(std::string(FrameStream::kMostQueued + (size_t{4} << 20), 'x')));
  loop.Settle();
  EXPECT_TRUE(stream->open());
  Write(Framed("I am busy"));
  stream->Send(AsBytes("one more"));
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
  EXPECT_EQ(*closed, (Error{Code::kPeerLost, "it has not read 64 MiB that were sent to it", ""}));
  EXPECT_THAT(frames, ElementsAre("I am busy"));
}

TEST_F(FrameStreamTest, APeerThatReadsMayBeSentAnyAmount) {
  Start();
  const std::string big(size_t{1} << 20, 'x');
  size_t got = 0;
  for (size_t sent = 0; sent < 2 * FrameStream::kMostQueued; sent += big.size()) {
    stream->Send(AsBytes(big));
    ASSERT_TRUE(loop.Until([&] {
      got += ReadAll().size();
      return stream->flushed();
    }));
  }
  EXPECT_TRUE(stream->open());
}

TEST_F(FrameStreamTest, WhatTheKernelDoesNotTakeIsQueued) {
  Start();
  const std::string big(300000, 'x');
  for (int i = 0; i < 5; ++i) stream->Send(AsBytes(big));
  EXPECT_FALSE(stream->flushed());
  std::string got;
  ASSERT_TRUE(loop.Until([&] {
    got += ReadAll();
    return got.size() == 5 * (big.size() + 4);
  }));
  EXPECT_TRUE(stream->flushed());
  EXPECT_EQ(got.substr(4, big.size()), big);
  EXPECT_FALSE(closed);
}

TEST_F(FrameStreamTest, TheRestOfAFrameWaitsForNoTurnOfTheLoop) {
  kernel_takes_parts = true;
  stream->Send(AsBytes("I leave"));
  kernel_takes_parts = false;
  EXPECT_TRUE(stream->flushed());
  EXPECT_EQ(ReadAll(), AsText(Framed("I leave")));
}

TEST_F(FrameStreamTest, AFrameHandlerMayDestroyIt) {
  stream->Start(
      [this](ByteView frame) {
        stream.reset();
        frames.emplace_back(AsText(frame));
      },
      [this](const Error& reason) { closed = reason; });
  Bytes two = Framed("one");
  const Bytes second = Framed("two");
  two.insert(two.end(), second.begin(), second.end());
  Write(two);
  loop.Settle();
  EXPECT_THAT(frames, ElementsAre("one"));
  EXPECT_FALSE(closed);
}

TEST_F(FrameStreamTest, ACloseHandlerMayDestroyIt) {
  int calls = 0;
  stream->Start([](ByteView) {},
                [this, &calls](const Error&) {
                  stream.reset();
                  ++calls;
                });
  far.Reset();
  loop.Settle();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(stream, nullptr);
}

TEST_F(FrameStreamTest, TheRestOfTheFramesIsForTheNewOwner) {
  std::vector<std::string> second_owner;
  stream->Start(
      [&](ByteView frame) {
        frames.emplace_back(AsText(frame));
        stream->Start([&](ByteView next) { second_owner.emplace_back(AsText(next)); },
                      [&](const Error& reason) { closed = reason; });
      },
      [](const Error&) { FAIL() << "the first owner has let go"; });
  Bytes all;
  for (const char* text : {"one", "two", "three"}) {
    const Bytes next = Framed(text);
    all.insert(all.end(), next.begin(), next.end());
  }
  Write(all);
  far.Reset();
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
  EXPECT_THAT(frames, ElementsAre("one"));
  EXPECT_THAT(second_owner, ElementsAre("two", "three"));
}

// The frames wait in the stream until there is an owner, even if the kernel reports nothing new.
TEST_F(FrameStreamTest, FramesThatWaitedAreDeliveredToALaterOwner) {
  std::unique_ptr<FrameStream> held;
  stream->Start(
      [&](ByteView frame) {
        frames.emplace_back(AsText(frame));
        // Handed over by move: the old owner's handlers stay for the moment.
        held = std::move(stream);
      },
      [](const Error&) {});
  Write(Framed("one"));
  loop.Settle();
  ASSERT_NE(held, nullptr);
  Write(Framed("two"));
  std::vector<std::string> later;
  held->Start([&](ByteView frame) { later.emplace_back(AsText(frame)); }, [](const Error&) {});
  loop.Settle();
  EXPECT_THAT(later, ElementsAre("two"));
}

TEST_F(FrameStreamTest, SealedFramesOpenOnlyInOrder) {
  auto [near, other] = SocketPair();
  FrameStream peer(*loop, std::move(near), 1000);
  stream = std::make_unique<FrameStream>(*loop, std::move(other), 1000);
  stream->Seal(auth::Sealer(KeyOf(1)), auth::Opener(KeyOf(2), "gpu02"));
  peer.Seal(auth::Sealer(KeyOf(2)), auth::Opener(KeyOf(1), "gpu01"));
  std::vector<std::string> at_peer;
  peer.Start([&](ByteView frame) { at_peer.emplace_back(AsText(frame)); }, [](const Error&) {});
  Start();
  stream->Send(AsBytes("up"));
  stream->Send(AsBytes(""));
  peer.Send(AsBytes("down"));
  loop.Settle();
  EXPECT_THAT(at_peer, ElementsAre("up", ""));
  EXPECT_THAT(frames, ElementsAre("down"));
}

TEST_F(FrameStreamTest, AFrameThatIsNotAuthenticClosesTheStream) {
  stream->Seal(auth::Sealer(KeyOf(1)), auth::Opener(KeyOf(2), "gpu02"));
  Start();
  Write(Framed("not sealed at all, but long enough"));
  ASSERT_TRUE(loop.Until([&] { return closed.has_value(); }));
  EXPECT_EQ(*closed,
            (Error{Code::kAuthentication,
                   "message 1 from gpu02 is not authentic: changed, repeated or missing on the way", ""}));
  EXPECT_TRUE(frames.empty());
}

TEST_F(FrameStreamTest, KeysTakeEffectBetweenTwoFrames) {
  auth::Sealer sealer(KeyOf(3));
  stream->Start(
      [this](ByteView frame) {
        frames.emplace_back(AsText(frame));
        if (frames.size() == 1) stream->Seal(auth::Sealer(KeyOf(1)), auth::Opener(KeyOf(3), "gpu02"));
      },
      [this](const Error& reason) { closed = reason; });
  Bytes both = Framed("clear");
  const Bytes sealed = Framed(AsText(sealer.Seal(AsBytes("sealed"))));
  both.insert(both.end(), sealed.begin(), sealed.end());
  Write(both);
  loop.Settle();
  EXPECT_THAT(frames, ElementsAre("clear", "sealed"));
}

TEST_F(FrameStreamTest, DestroyedBeforeItsPostedWorkIsHarmless) {
  stream->Start([&](ByteView) { stream->Start([](ByteView) {}, [](const Error&) {}); }, [](const Error&) {});
  Bytes two = Framed("one");
  two.insert(two.end(), {3, 0, 0, 0});
  Write(two);
  loop->RunOnce(Deadline::After(std::chrono::seconds(10)));
  stream.reset();
  loop.Settle();
}

TEST_F(FrameStreamTest, RemembersWhenItLastHeard) {
  Start();
  const auto before = Clock::now();
  Write(Bytes{1});
  loop.Settle();
  EXPECT_GE(stream->last_received(), before);
}

TEST_F(FrameStreamTest, LeavesNoDescriptorBehind) {
  const auto before = OpenDescriptors();
  {
    auto [near, other] = SocketPair();
    FrameStream one(*loop, std::move(near), 10);
    one.Start([](ByteView) {}, [](const Error&) {});
  }
  EXPECT_TRUE(loop.Until([&] { return OpenDescriptors() <= before; }));
}

}  // namespace
}  // namespace muster::net
