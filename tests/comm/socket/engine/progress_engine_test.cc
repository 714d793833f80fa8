#include "comm/socket/engine/progress_engine.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/comm/socket/fake_meshes.h"

namespace muster::socket {
namespace {

// Happens soon after the spinning rank has read the clock.
class SoonAwaited final : public Awaited {
 public:
  bool Happened() override { return ++checks_ > 40; }
  void Idle() override {}
  void FallAsleep() override {}
  void WakeUp() override {}
  int doorbell_fd() const override { return -1; }
  void Drain() override {}
  Duration longest_sleep() const override { return kLongestSleep; }
  std::vector<int> WaitingFor() override { return {1}; }

  void Repeat() { checks_ = 0; }

 private:
  int checks_ = 0;
};

TEST(ProgressEngineTest, ARankThatSpinsServesOthersDuringALongCall) {
  const FakeMeshes fake(BlockLayout({2}));
  ConnectionSet connections(fake.meshes[0], 1, Purpose::kCollective, {0, 1});
  ProgressEngineOptions options;
  options.spin = true;
  ProgressEngine engine(connections, nullptr, options);
  SoonAwaited awaited;
  Mesh& other = *fake.meshes[1];
  const uint64_t question = other.Inquire(0, {});
  const Deadline deadline = Deadline::After(std::chrono::seconds(20));
  engine.Begin({}, std::chrono::minutes(1));
  while (other.Look(question) == Inquiry::State::kOpen && !deadline.Expired()) {
    awaited.Repeat();
    ASSERT_EQ(MessageOf(engine.Await(awaited)), "");
    other.Serve();
  }
  EXPECT_EQ(other.Look(question), Inquiry::State::kAnswered);
}

// Serving is due when a rank begins to spin for messages, and the group has failed. True if it slept before it noticed:
// a rank that sleeps reports a late call first.
bool SleepsFirst() {
  FakeMeshes fake(BlockLayout({2}));
  ConnectionSet connections(fake.meshes[0], 1, Purpose::kCollective, {0, 1});
  ProgressEngineOptions options;
  options.spin = true;
  ProgressEngine engine(connections, nullptr, options);
  bool slept = false;
  fake.groups[0]->activity().set_straggler_after(std::chrono::milliseconds(1));
  fake.groups[0]->activity().SetOnLate([&] { slept = true; });
  SoonAwaited awaited;
  engine.Begin({}, std::chrono::minutes(1));
  EXPECT_EQ(MessageOf(engine.Await(awaited)), "");
  std::this_thread::sleep_for(kServeEvery);
  fake.state.Fail({Code::kPeerLost, "enough", ""});
  Bytes bytes(1);
  engine.Receive(1, bytes);
  EXPECT_EQ(MessageOf(engine.Run()), "enough");
  return slept;
}

TEST(ProgressEngineTest, ARankThatSpinsForMessagesServesOthers) {
  // A busy machine may take its processor for the 50 us in which it spins.
  EXPECT_TRUE(!SleepsFirst() || !SleepsFirst() || !SleepsFirst());
}

}  // namespace
}  // namespace muster::socket
