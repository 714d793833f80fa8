#include "comm/socket/engine/stall_monitor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <thread>

#include "tests/comm/socket/fake_meshes.h"

namespace muster::socket {
namespace {

// Rank 0 waits for other ranks; rank 1 is on its node, ranks 2 and 3 are on another one. All of them serve, in one
// thread.
class StallMonitorTest : public testing::Test {
 protected:
  explicit StallMonitorTest(const std::vector<int>& node_of_rank = BlockLayout({2, 2}))
      : fake_(node_of_rank) {
    call_.communicator = 1;
    call_.sequence = 1;
  }
  void BeginMonitor() {
    monitor_ = std::make_unique<StallMonitor>(*fake_.meshes[0], nullptr, std::chrono::milliseconds(1));
    monitor_->Begin(call_);
  }
  // While rank 0 waits for `peers`. False: not within 20 s.
  bool Until(const std::vector<int>& peers, const std::function<bool()>& happened) {
    const Deadline deadline = Deadline::After(std::chrono::seconds(20));
    while (!happened()) {
      if (deadline.Expired()) return false;
      if (monitor_->Blocked()) monitor_->Attend(peers, false);
      for (const std::shared_ptr<Mesh>& mesh : fake_.meshes) {
        if (mesh) mesh->Serve();
      }
      std::this_thread::yield();
    }
    return true;
  }
  bool UntilAnswered(const std::vector<int>& peers) {
    return Until(peers, [this] { return monitor_->Asking(); }) &&
           Until(peers, [this] { return !monitor_->Asking(); });
  }

  FakeMeshes fake_;
  Call call_;
  std::unique_ptr<StallMonitor> monitor_;
};

TEST_F(StallMonitorTest, TheNumberOfARecvIsNotThatOfACollective) {
  const auto history = std::make_shared<CallHistory>();
  fake_.meshes[1]->AddCallHistory(1, history);
  history->Begin(call_);
  call_.operation = Operation::kRecv;
  BeginMonitor();
  ASSERT_TRUE(UntilAnswered({1}));
  EXPECT_EQ(fake_.state.failure(), std::nullopt);
}

TEST_F(StallMonitorTest, KeepsAllThatHaveGone) {
  fake_.meshes[1].reset();
  fake_.meshes[2]->End(1, Purpose::kCollective);
  BeginMonitor();
  EXPECT_TRUE(Until({1, 2}, [this] { return monitor_->Gone() == std::set<int>{1, 2}; }));
  monitor_->End();
  EXPECT_EQ(monitor_->Gone(), std::set<int>());
}

// A rank of another node that refuses the connection may be behind a firewall.
TEST_F(StallMonitorTest, OfAnotherNodeAPeerHasGoneThatAnswersSo) {
  fake_.meshes[2]->End(1, Purpose::kCollective);
  fake_.meshes[3].reset();
  BeginMonitor();
  ASSERT_TRUE(UntilAnswered({2, 3}));
  EXPECT_EQ(monitor_->Gone(), std::set<int>{2});
}

// The control plane has the ranks that have left.
TEST_F(StallMonitorTest, OfAnotherNodeACollectiveReportsAPeerThatRefuses) {
  CallHistory history;
  history.Begin(call_);
  int reported = 0;
  fake_.groups[0]->activity().SetOnLate([&] { ++reported; });
  monitor_ = std::make_unique<StallMonitor>(*fake_.meshes[0], &history, std::chrono::milliseconds(1));
  monitor_->Begin(call_);
  fake_.meshes[1].reset();
  ASSERT_TRUE(UntilAnswered({1, 2}));
  EXPECT_EQ(reported, 0) << "one is on this node, and the other one is there";
  fake_.meshes[3].reset();
  EXPECT_TRUE(Until({3}, [&] { return reported > 0; }));
}

// Its communicator may not be known there yet, or it leaves later.
TEST_F(StallMonitorTest, AsksAgainAPeerThatWasElsewhere) {
  BeginMonitor();
  ASSERT_TRUE(UntilAnswered({1}));
  EXPECT_EQ(monitor_->Gone(), std::set<int>());
  fake_.meshes[1]->End(1, Purpose::kCollective);
  EXPECT_TRUE(Until({1}, [this] { return monitor_->Gone() == std::set<int>{1}; }));
}

TEST_F(StallMonitorTest, FindsADisagreementWithAPeerThatHadNotSplitYet) {
  BeginMonitor();
  ASSERT_TRUE(UntilAnswered({1}));
  const auto history = std::make_shared<CallHistory>();
  fake_.meshes[1]->AddCallHistory(1, history);
  Call other = call_;
  other.operation = Operation::kSplit;
  EXPECT_EQ(history->Begin(other), std::nullopt);
  EXPECT_TRUE(Until({1}, [this] { return fake_.state.failure().has_value(); }));
}

// A survey takes a rank that is waited for and has left for one that never comes.
TEST_F(StallMonitorTest, TheNoteOfAwaitedRanksIsCorrectUntilTheNextProgress) {
  CallHistory history;
  history.Begin(call_);
  StallMonitor monitor(*fake_.meshes[0], &history, std::chrono::hours(1));
  monitor.Begin(call_);
  const auto noted = [&] { return history.Look().waiting_for; };
  const auto wait_for = [&](const std::vector<int>& peers) {
    if (monitor.Blocked()) monitor.Attend(peers, true);
  };
  const Deadline deadline = Deadline::After(std::chrono::seconds(20));
  while (noted().empty() && !deadline.Expired()) wait_for({1, 2, 3});
  EXPECT_EQ(noted(), (std::vector<int>{1, 2, 3}));
  wait_for({2, 3});
  EXPECT_EQ(noted(), (std::vector<int>{2, 3}));
  monitor.Progress();
  EXPECT_EQ(noted(), std::vector<int>{});
  const auto progress = Clock::now();
  while (noted().empty() && !deadline.Expired()) wait_for({2});
  EXPECT_EQ(noted(), std::vector<int>{2});
  EXPECT_GE(Clock::now() - progress, std::chrono::seconds(4)) << "data may come slowly";
  monitor.End();
}

TEST_F(StallMonitorTest, TheTimeOfARecvBeginsAnewWithProgress) {
  call_.operation = Operation::kRecv;
  BeginMonitor();
  const ActivityTable& table = fake_.meshes[0]->group().activity();
  ASSERT_TRUE(Until({1}, [&] { return !table.Look().empty(); }));
  const Clock::time_point noted = Clock::now();
  EXPECT_EQ(table.Look()[0].waiting_for, std::vector<int>{1});
  EXPECT_GE(table.Look()[0].milliseconds, 50u);
  monitor_->Progress();
  const uint64_t age = table.Look()[0].milliseconds;
  EXPECT_LE(std::chrono::milliseconds(age), Clock::now() - noted);
  EXPECT_TRUE(table.Look()[0].active);
}

class StallMonitorOfManyTest : public StallMonitorTest {
 protected:
  StallMonitorOfManyTest() : StallMonitorTest(BlockLayout({18})) {}
};

TEST_F(StallMonitorOfManyTest, AsksOthersIfTheFirstOnesAreSilent) {
  // They do not serve.
  const std::vector<std::shared_ptr<Mesh>> silent(fake_.meshes.begin() + 1, fake_.meshes.end() - 1);
  std::fill(fake_.meshes.begin() + 1, fake_.meshes.end(), nullptr);
  std::vector<int> peers(17);
  std::iota(peers.begin(), peers.end(), 1);
  BeginMonitor();
  EXPECT_TRUE(Until(peers, [this] { return monitor_->Gone() == std::set<int>{17}; }));
}

}  // namespace
}  // namespace muster::socket
