#include "comm/socket/transport/dial.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/net/socket.h"
#include "tests/comm/net/test_base.h"

namespace muster::socket {
namespace {

// Rank 5 dials; rank 2 listens on loopback, and each step of its answer is the test's.
class DialTest : public testing::Test {
 protected:
  DialTest()
      : listener_(*net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0))),
        dial_(*loop_, high_, {42, Purpose::kCollective, 2}, {{net::LocalAddress(listener_.get())}},
              std::chrono::minutes(1)) {
    low_.rank = 2;
    AwaitReadable(listener_.get());
    auto accepted = net::Accept(listener_.get());
    EXPECT_TRUE(accepted);
    accepted_ = *std::move(accepted);
  }
  static void AwaitReadable(int fd) {
    pollfd entry{fd, POLLIN, 0};
    EXPECT_EQ(poll(&entry, 1, 30'000), 1);
  }
  // The dial goes on with what has come for it.
  void Go() {
    AwaitReadable(loop_->fd());
    loop_->RunReady();
  }
  Shake Answer() {
    AwaitReadable(accepted_.get());
    return acceptor_.Advance(accepted_.get());
  }

  std::unique_ptr<net::EventLoop> loop_ = *net::EventLoop::Create();
  GroupMember high_{5, 8, {}, "0011"};
  GroupMember low_ = high_;
  UniqueFd listener_;
  Dial dial_;
  UniqueFd accepted_;
  AcceptorHandshake acceptor_{low_};
};

// A peer that has taken it takes no other: a connection of the peer's that comes meanwhile must not replace
// it.
TEST_F(DialTest, MayHaveReachedThePeerUntilItHasFailed) {
  EXPECT_TRUE(dial_.MayHaveReached()) << "the kernel has connected, nobody has looked";
  Go();
  EXPECT_TRUE(dial_.MayHaveReached());
  EXPECT_EQ(Answer(), Shake::kPending);
  Go();
  EXPECT_EQ(Answer(), Shake::kDone);
  EXPECT_TRUE(dial_.MayHaveReached());
  EXPECT_EQ(acceptor_.Take(accepted_.get()), Shake::kDone);
  Go();
  EXPECT_EQ(dial_.state(), Dial::State::kConnected);
  EXPECT_TRUE(dial_.MayHaveReached());
  const UniqueFd connected = dial_.TakeConnection().fd;
  ASSERT_TRUE(connected);
  EXPECT_GT(net::KeepAliveSeconds(connected.get()), 3600) << "liveness.dead_after decides";
}

TEST_F(DialTest, HasNotReachedAPeerThatIsGone) {
  listener_.Reset();
  accepted_.Reset();
  while (dial_.state() == Dial::State::kTrying) {
    pollfd entry{loop_->fd(), POLLIN, 0};
    ASSERT_GE(
        poll(&entry, 1, dial_.wake().EarlierOf(Deadline::After(std::chrono::minutes(1))).PollMilliseconds()),
        0);
    loop_->RunReady();
    dial_.OnTime();
  }
  EXPECT_EQ(dial_.state(), Dial::State::kFailed);
  EXPECT_FALSE(dial_.MayHaveReached());
  EXPECT_TRUE(dial_.refused());
}

// A Unix listener whose queue is full refuses immediately, for as long as its owner accepts none.
class FullQueueTest : public testing::Test {
 protected:
  FullQueueTest() : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    // Bazel's own folder for tests has a name that is too long for a socket.
    const auto name = *net::SocketAddress::Path(fmt::format("/tmp/muster-dial-test-{}", getpid()));
    unlink(name.path().c_str());
    EXPECT_EQ(bind(listener_.get(), name.get(), name.length()), 0);
    EXPECT_EQ(listen(listener_.get(), 0), 0);
    unix_ = name;
    int error_number = 0;
    while (error_number == 0) {
      auto fd = net::StartConnect(unix_, &error_number);
      if (fd) waiting_.push_back(*std::move(fd));
    }
    EXPECT_EQ(error_number, EAGAIN);
  }
  ~FullQueueTest() override { unlink(unix_.path().c_str()); }
  // Until `done`, at most a minute.
  bool Until(Dial& dial, const std::function<bool()>& done) {
    const Deadline limit = Deadline::After(std::chrono::minutes(1));
    while (!done() && !limit.Expired()) {
      pollfd entry{loop_->fd(), POLLIN, 0};
      poll(&entry, 1, dial.wake().EarlierOf(limit).PollMilliseconds());
      loop_->RunReady();
      dial.OnTime();
    }
    return done();
  }

  std::unique_ptr<net::EventLoop> loop_ = *net::EventLoop::Create();
  GroupMember high_{5, 8, {}, "0011"};
  UniqueFd listener_;
  net::SocketAddress unix_;
  std::vector<UniqueFd> waiting_;
};

TEST_F(FullQueueTest, AnotherWayIsTriedAfterAWhile) {
  const auto tcp = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0));
  Dial dial(*loop_, high_, {42, Purpose::kCollective, 2}, {{unix_}, {net::LocalAddress(tcp->get())}},
            std::chrono::milliseconds(100));
  UniqueFd accepted;
  EXPECT_TRUE(Until(dial, [&] {
    if (!accepted) accepted = *net::Accept(tcp->get());
    return static_cast<bool>(accepted);
  }));
  EXPECT_EQ(dial.state(), Dial::State::kTrying);
}

TEST_F(FullQueueTest, WhereThereIsNoOtherWayItIsWaitedFor) {
  Dial dial(*loop_, high_, {42, Purpose::kCollective, 2}, {{unix_}}, std::chrono::milliseconds(1));
  int rounds = 0;
  EXPECT_TRUE(Until(dial, [&] { return ++rounds > 10; }));
  EXPECT_EQ(dial.state(), Dial::State::kTrying);
  for (size_t i = 0; i < waiting_.size(); ++i) EXPECT_TRUE(*net::Accept(listener_.get()));
  UniqueFd accepted;
  EXPECT_TRUE(Until(dial, [&] {
    if (!accepted) accepted = *net::Accept(listener_.get());
    return static_cast<bool>(accepted);
  }));
}

// The kernel drops requests for a TCP listener whose queue is full, and repeats them ever more slowly.
TEST(DialOfAFullTcpQueue, RepeatsItsRequest) {
  const std::unique_ptr<net::EventLoop> loop = *net::EventLoop::Create();
  const GroupMember high{5, 8, {}, "0011"};
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto any = *net::SocketAddress::FromNumeric("127.0.0.1", 0);
  ASSERT_EQ(bind(listener.get(), any.get(), any.length()), 0);
  ASSERT_EQ(listen(listener.get(), 0), 0);
  const net::SocketAddress address = net::LocalAddress(listener.get());
  std::vector<UniqueFd> waiting;
  for (short answered = POLLOUT; answered != 0;) {
    waiting.push_back(*net::StartConnect(address));
    pollfd connecting{waiting.back().get(), POLLOUT, 0};
    poll(&connecting, 1, 100);
    answered = connecting.revents;
  }
  Dial dial(*loop, high, {42, Purpose::kCollective, 2}, {{address}}, std::chrono::hours(1));
  for (int request = 0; request < 3; ++request) {
    const Deadline next = dial.wake();
    ASSERT_LT(next.when(), Clock::now() + std::chrono::minutes(1));
    while (!next.Expired()) poll(nullptr, 0, next.PollMilliseconds());
    dial.OnTime();
    EXPECT_EQ(dial.state(), Dial::State::kTrying);
    EXPECT_FALSE(dial.MayHaveReached());
  }
}

// A peer with too many connections closes some before its reply.
TEST(DialOfACrowdedPeer, TriesAgainUntilItsTimeIsUp) {
  const std::unique_ptr<net::EventLoop> loop = *net::EventLoop::Create();
  const GroupMember high{5, 8, {}, "0011"};
  const auto listener = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0));
  Dial dial(*loop, high, {42, Purpose::kCollective, 2}, {{net::LocalAddress(listener->get())}},
            std::chrono::hours(1));
  const Deadline limit = Deadline::After(std::chrono::minutes(1));
  for (int closed = 0; closed < 20 && !limit.Expired();) {
    if (*net::Accept(listener->get())) ++closed;
    pollfd entry{loop->fd(), POLLIN, 0};
    poll(&entry, 1, dial.wake().EarlierOf(Deadline::After(std::chrono::milliseconds(5))).PollMilliseconds());
    loop->RunReady();
    dial.OnTime();
  }
  EXPECT_FALSE(limit.Expired());
  EXPECT_EQ(dial.state(), Dial::State::kTrying);
}

}  // namespace
}  // namespace muster::socket
