#include "comm/rendezvous/link/handshake_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

class HandshakeClockTest : public testing::Test {
 protected:
  void Start(Duration limit) {
    clock = std::make_unique<HandshakeClock>(*loop, limit, [this](bool own) { expired.push_back(own); });
  }

  net::TestLoop loop;
  std::vector<bool> expired;
  std::unique_ptr<HandshakeClock> clock;
};

TEST_F(HandshakeClockTest, ThePeersTimeExpires) {
  Start(milliseconds(20));
  ASSERT_TRUE(loop.Until([&] { return !expired.empty(); }));
  loop.For(milliseconds(50));
  EXPECT_THAT(expired, ElementsAre(false));
}

TEST_F(HandshakeClockTest, TheOwnProversTimeIsNotThePeers) {
  Start(milliseconds(100));
  clock->SetOwnTurn(true);
  ASSERT_TRUE(loop.Until([&] { return !expired.empty(); }));
  EXPECT_THAT(expired, ElementsAre(true)) << "the prover has not answered for the whole limit";
  clock->SetOwnTurn(false);
  clock->SetOwnTurn(true);
  clock->SetOwnTurn(false);
  EXPECT_THAT(expired, ElementsAre(true)) << "the peer still has its time";
  ASSERT_TRUE(loop.Until([&] { return expired.size() == 2; }));
  EXPECT_THAT(expired, ElementsAre(true, false));
}

TEST_F(HandshakeClockTest, ThePeersTurnsAddUp) {
  Start(milliseconds(120));
  for (int i = 0; i < 50 && expired.empty(); ++i) {
    loop.For(milliseconds(10));
    clock->SetOwnTurn(true);
    clock->SetOwnTurn(false);
  }
  EXPECT_THAT(expired, ElementsAre(false));
}

// The loop did not run, so a message that came in time is read too late. The peer could not send its next one before.
TEST_F(HandshakeClockTest, AMessageThatIsReadTooLateLeavesThePeerTheWholeLimit) {
  Start(milliseconds(20));
  const Deadline limit = Deadline::After(milliseconds(20));
  while (!limit.Expired()) usleep(1000);
  bool half_over = false;
  loop->After(milliseconds(10), [&] {
    half_over = true;
    EXPECT_THAT(expired, IsEmpty());
  });
  clock->SetOwnTurn(true);
  clock->SetOwnTurn(false);
  ASSERT_TRUE(loop.Until([&] { return half_over && !expired.empty(); }));
  EXPECT_THAT(expired, ElementsAre(false));
}

TEST_F(HandshakeClockTest, AnOwnProverThatHangsIsReportedAgain) {
  Start(milliseconds(10));
  clock->SetOwnTurn(true);
  ASSERT_TRUE(loop.Until([&] { return expired.size() == 3; }));
  EXPECT_THAT(expired, ElementsAre(true, true, true));
}

TEST_F(HandshakeClockTest, TheHandlerMayDestroyIt) {
  clock = std::make_unique<HandshakeClock>(*loop, milliseconds(1), [this](bool own) {
    clock.reset();
    expired.push_back(own);
  });
  ASSERT_TRUE(loop.Until([&] { return !expired.empty(); }));
  Start(hours(1));
  clock.reset();
}

}  // namespace
}  // namespace muster::rendezvous
