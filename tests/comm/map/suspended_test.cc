// A map whose processes were all suspended for a while (`scontrol suspend`).
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/map/messages.h"
#include "comm/map/root.h"
#include "comm/net/thread_worker.h"
#include "tests/comm/net/test_loop.h"

namespace {

// The monotonic clock is the test's.
std::atomic<int> seconds = 1000;

}  // namespace

// In the place of the C library's.
extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  if (clock != CLOCK_MONOTONIC) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  *time = {seconds, 0};
  return 0;
}

namespace muster::map {
namespace {

constexpr int kSuspended = 1000;

class Suspended : public testing::Test {
 protected:
  // Ranks 0 and 1, of which rank 0 has the first item.
  void Begin(uint64_t items, Options options) {
    for (int rank = 0; rank < 2; ++rank) {
      roster_.nodes.push_back({"gpu0" + std::to_string(rank + 1), {}});
      roster_.members.push_back({rank, 0, 100 + rank, {}});
    }
    const auto none = [](const Error&) {};
    Root::Params params{
        *loop_,
        worker_,
        roster_,
        0,
        {},
        std::chrono::seconds(30),
        [this](int rank, ByteView message) { sent_.emplace_back(rank, HeadingOf(message)->type); },
        none,
        none,
        [] {},
        [] {}};
    root_ = std::make_unique<Root>(std::move(params));
    options.quiet = true;
    Identity identity;
    identity.items = items;
    for (int rank = 0; rank < 2; ++rank)
      root_->Receive(rank, MessageType::kJoin, Encode(0, Join{identity, options}));
    ASSERT_TRUE(loop_.Until([&] { return Sent(1, MessageType::kOpened) > 0; }));
    Want(0);
    ASSERT_EQ(Sent(0, MessageType::kGrant), 1);
  }
  void Want(int rank) { root_->Receive(rank, MessageType::kWant, EncodeBare(MessageType::kWant, 0)); }
  long Sent(int rank, MessageType type) const { return std::ranges::count(sent_, std::pair(rank, type)); }
  void Pass(int by) {
    seconds += by;
    loop_.Settle();
  }
  // How many seconds pass until `happened`.
  int Until(const std::function<bool()>& happened) {
    int passed = 0;
    for (; !happened() && passed < 100; ++passed) Pass(1);
    return passed;
  }

  net::TestLoop loop_;
  net::ThreadWorker worker_{loop_->mailbox()};
  Roster roster_;
  std::vector<std::pair<int, MessageType>> sent_;
  std::unique_ptr<Root> root_;
};

TEST_F(Suspended, AnItemHasTheRestOfItsTime) {
  Options options;
  options.timeout = std::chrono::seconds(10);
  Begin(1, options);
  Pass(1);
  Pass(kSuspended);
  EXPECT_EQ(Sent(0, MessageType::kExpired), 0);
  EXPECT_GT(Until([&] { return Sent(0, MessageType::kExpired) > 0; }), 8);
  EXPECT_EQ(Sent(0, MessageType::kExpired), 1);
}

TEST_F(Suspended, ARankIsNotSilent) {
  Begin(1, {});
  Want(1);
  ASSERT_EQ(Sent(0, MessageType::kRecall), 1);
  Pass(kSuspended);
  EXPECT_EQ(Sent(1, MessageType::kGrant), 0);
  EXPECT_GT(Until([&] { return Sent(1, MessageType::kGrant) > 0; }), 25);
  EXPECT_EQ(Sent(1, MessageType::kGrant), 1);
}

// Also if a message comes before the timer.
TEST_F(Suspended, TheJobsEndIsLater) {
  Options options;
  options.time_left = std::chrono::seconds(60);
  Begin(9, options);
  seconds += kSuspended;
  Want(1);
  EXPECT_EQ(Sent(1, MessageType::kGrant), 1);
  EXPECT_FALSE(root_->Look().time_is_up);
  loop_.Settle();
  EXPECT_FALSE(root_->Look().time_is_up);
  EXPECT_GT(Until([&] { return root_->Look().time_is_up; }), 50);
  EXPECT_TRUE(root_->Look().time_is_up);
}

}  // namespace
}  // namespace muster::map
