#include "comm/rendezvous/liveness/heartbeat_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/rendezvous/messages/messages.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr LivenessOptions kFast{milliseconds(20), milliseconds(60), milliseconds(200)};

// By a clock of its own, which goes on by one heartbeat with each: how busy the machine is changes nothing.
class HeartbeatMonitorTest : public testing::Test {
 protected:
  HeartbeatMonitorTest() {
    auto [near, other] = net::SocketPair();
    stream = std::make_unique<net::FrameStream>(*loop, std::move(near), 1000);
    stream->Start([](ByteView) {}, [](const Error&) {});
    far = std::make_unique<net::FrameStream>(*loop, std::move(other), 1000);
  }
  void Start() {
    heard = now;
    heartbeat = std::make_unique<HeartbeatMonitor>(
        *loop, kFast,
        [this] {
          ++heartbeats;
          if (speaks) heard = now;
          return std::vector<HeartbeatMonitor::Peer>{{stream.get(), ranks, heard}};
        },
        HeartbeatMonitor::Events{[this](std::span<const int> described_ranks) {
                                   EXPECT_TRUE(std::ranges::equal(described_ranks, ranks));
                                   ++described;
                                   return std::string("rank 1 on gpu02");
                                 },
                                 [this](const HeartbeatMonitor::Silence& peer) {
                                   EXPECT_EQ(peer.stream, stream.get());
                                   ++suspected;
                                 },
                                 [this](const HeartbeatMonitor::Verdict& verdict) {
                                   ASSERT_EQ(verdict.dead.size(), 1u);
                                   EXPECT_EQ(verdict.dead.front().ranks, ranks);
                                   EXPECT_EQ(verdict.silent, 1);
                                   EXPECT_EQ(verdict.peers, 1);
                                   if (deaths++ == 0) died = now;
                                 },
                                 [this](const net::FrameStream& again) {
                                   EXPECT_EQ(&again, stream.get());
                                   ++heard_again;
                                 }},
        [this] { return now += kFast.heartbeat; });
  }
  void Pass(int some) {
    const int until = heartbeats + some;
    ASSERT_TRUE(loop.Until([&] { return heartbeats >= until; }));
  }

  std::vector<int> ranks = {1};
  net::TestLoop loop;
  int described = 0;
  Clock::time_point now{std::chrono::hours(1)};
  Clock::time_point heard;
  Clock::time_point died;
  bool speaks = false;
  std::unique_ptr<net::FrameStream> stream;
  std::unique_ptr<net::FrameStream> far;
  std::unique_ptr<HeartbeatMonitor> heartbeat;
  int heartbeats = 0;
  int suspected = 0;
  int heard_again = 0;
  int deaths = 0;
};

TEST_F(HeartbeatMonitorTest, SendsAHeartbeatEachTime) {
  int arrived = 0;
  far->Start(
      [&](ByteView frame) {
        EXPECT_EQ(ControlTypeOf(frame), ControlType::kHeartbeat);
        ++arrived;
      },
      [](const Error&) {});
  Start();
  ASSERT_TRUE(loop.Until([&] { return arrived >= 3; }));
}

TEST_F(HeartbeatMonitorTest, WhoIsSilentIsReportedAndThenGivenUp) {
  const LogCapture log;
  Start();
  // Its clock starts with the HeartbeatMonitor, one heartbeat before the first.
  const auto began = now;
  ASSERT_TRUE(loop.Until([&] { return deaths > 0; }));
  EXPECT_EQ(log.Text(), "muster: warning: no message from rank 1 on gpu02 for 0.1 s; lost after 200ms\n");
  EXPECT_EQ(died - began, milliseconds(200));
  EXPECT_EQ(suspected, 1);
  EXPECT_EQ(described, 1);
}

// Several nodes lost one after the other are no sign that this one is cut off.
TEST_F(HeartbeatMonitorTest, CountsTheNodesThatFellSilentTogether) {
  const LogCapture log;
  const std::vector<std::vector<int>> ranks_of = {{1}, {2}, {3}};
  const auto began = now;
  int together = 0;
  const HeartbeatMonitor monitor(
      *loop, kFast,
      [&] {
        return std::vector<HeartbeatMonitor::Peer>{{stream.get(), ranks_of[0], began},
                                                   {stream.get(), ranks_of[1], began + kFast.heartbeat},
                                                   {stream.get(), ranks_of[2], began + 5 * kFast.heartbeat}};
      },
      HeartbeatMonitor::Events{[](std::span<const int>) { return std::string("a rank"); },
                               [](const HeartbeatMonitor::Silence&) {},
                               [&](const HeartbeatMonitor::Verdict& verdict) {
                                 if (deaths++ == 0) together = verdict.silent;
                               }},
      [this] { return now += kFast.heartbeat; });
  ASSERT_TRUE(loop.Until([&] { return deaths > 0; }));
  EXPECT_EQ(together, 2);
}

TEST_F(HeartbeatMonitorTest, WhoSpeaksLives) {
  const LogCapture log;
  speaks = true;
  Start();
  Pass(30);
  EXPECT_EQ(described, 0) << "with a thousand peers each of thirty heartbeats would format a thousand names";
  EXPECT_EQ(deaths, 0);
  EXPECT_EQ(suspected, 0);
  EXPECT_EQ(heard_again, 0);
  EXPECT_EQ(log.Text(), "");
}

TEST_F(HeartbeatMonitorTest, WhoIsHeardAgainIsNotSuspectedAnyMore) {
  const LogCapture log;
  Start();
  ASSERT_TRUE(loop.Until([&] { return suspected == 1; }));
  speaks = true;
  Pass(1);
  EXPECT_THAT(log.Text(), HasSubstr("muster: rank 1 on gpu02 can be reached again\n"));
  EXPECT_EQ(heard_again, 1);
  speaks = false;
  ASSERT_TRUE(loop.Until([&] { return suspected == 2; }));
}

// A silent node's connection has ended, and its stream's address belongs to another node's.
TEST_F(HeartbeatMonitorTest, AnotherNodeAtTheSameAddressIsSuspectedAnew) {
  const LogCapture log;
  Start();
  ASSERT_TRUE(loop.Until([&] { return suspected == 1; }));
  ranks = {2};
  heard = now;
  Pass(1);
  EXPECT_EQ(log.Text().find("can be reached again"), std::string::npos);
  ASSERT_TRUE(loop.Until([&] { return suspected == 2; }));
}

TEST_F(HeartbeatMonitorTest, AfterAStallOfItsOwnTheClocksStartAnew) {
  const LogCapture log;
  Start();
  Pass(1);
  now += milliseconds(400);
  Pass(1);
  EXPECT_EQ(log.Text(),
            "muster: warning: this process was stopped for 0.4 s; the clocks of its peers start again\n");
  const auto resumed = now;
  ASSERT_TRUE(loop.Until([&] { return deaths > 0; }));
  EXPECT_EQ(died - resumed, milliseconds(200));
}

TEST_F(HeartbeatMonitorTest, StopsWhenItIsDestroyed) {
  Start();
  heartbeat.reset();
  loop.For(milliseconds(250));
  EXPECT_EQ(heartbeats, 0);
}

}  // namespace
}  // namespace muster::rendezvous
