#include "comm/rendezvous/pulse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "comm/rendezvous/messages.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"

namespace muster {
namespace {

using std::chrono::milliseconds;
using testing::ContainsRegex;
using testing::MatchesRegex;

constexpr LivenessOptions kFast{milliseconds(20), milliseconds(60), milliseconds(200)};

class PulseTest : public testing::Test {
 protected:
  PulseTest() {
    auto [near, other] = SocketPair();
    stream = std::make_unique<FrameStream>(*loop, std::move(near), 1000);
    stream->Start([](ByteView) {}, [](const Error&) {});
    far = std::make_unique<FrameStream>(*loop, std::move(other), 1000);
  }
  void Start() {
    pulse = std::make_unique<Pulse>(
        *loop, kFast,
        [this] {
          return std::vector<Pulse::Peer>{{stream.get(), "rank 1 on gpu02", {1}}};
        },
        [this](const Pulse::Peer& peer, Duration silent) {
          EXPECT_EQ(peer.name, "rank 1 on gpu02");
          if (deaths++ == 0) died_after = silent;
        });
  }

  TestLoop loop;
  std::unique_ptr<FrameStream> stream;
  std::unique_ptr<FrameStream> far;
  std::unique_ptr<Pulse> pulse;
  int deaths = 0;
  Duration died_after{};
};

TEST_F(PulseTest, SendsAHeartbeatEachTime) {
  int heartbeats = 0;
  far->Start(
      [&](ByteView frame) {
        EXPECT_EQ(ControlTypeOf(frame), ControlType::kHeartbeat);
        ++heartbeats;
      },
      [](const Error&) {});
  Start();
  ASSERT_TRUE(loop.Until([&] { return heartbeats >= 3; }));
}

TEST_F(PulseTest, WhoIsSilentIsReportedAndThenGivenUp) {
  const LogCapture log;
  Start();
  ASSERT_TRUE(loop.Until([&] { return deaths > 0; }));
  EXPECT_THAT(log.Text(),
              MatchesRegex("muster: warning: nothing was heard of rank 1 on gpu02 for 0.[0-9] s; given up "
                           "after 200ms\n"));
  EXPECT_GE(died_after, milliseconds(200));
}

TEST_F(PulseTest, WhoSpeaksLives) {
  int sent = 0;
  std::function<void()> speak = [&] {
    far->Send(AsBytes("x"));
    if (++sent < 30) loop->After(milliseconds(10), speak);
  };
  speak();
  Start();
  ASSERT_TRUE(loop.Until([&] { return sent == 30; }));
  EXPECT_EQ(deaths, 0);
}

TEST_F(PulseTest, WhoIsHeardAgainIsNotSuspectedAnyMore) {
  const LogCapture log;
  Start();
  ASSERT_TRUE(loop.Until([&] { return log.Has("nothing was heard of rank 1 on gpu02"); }));
  far->Send(AsBytes("x"));
  ASSERT_TRUE(loop.Until([&] { return log.Has("muster: rank 1 on gpu02 can be heard again\n"); }));
}

TEST_F(PulseTest, AfterAStallOfItsOwnTheClocksStartAnew) {
  const LogCapture log;
  Start();
  loop.For(milliseconds(30));
  // Not a wait for anything: this process stands still, as under a debugger.
  std::this_thread::sleep_for(milliseconds(400));
  const auto resumed = Clock::now();
  ASSERT_TRUE(loop.Until([&] { return deaths > 0; }));
  EXPECT_GE(Clock::now() - resumed, milliseconds(200));
  EXPECT_THAT(log.Text(),
              ContainsRegex("muster: warning: this process stood still for 0.[0-9] s; the clocks of its "
                            "peers start anew\n"));
}

TEST_F(PulseTest, StopsWhenItIsDestroyed) {
  Start();
  pulse.reset();
  loop.For(milliseconds(250));
  EXPECT_EQ(deaths, 0);
}

}  // namespace
}  // namespace muster
