#include "comm/rendezvous/join/scheduler_inquiry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

// Its first answers are errors.
class FailingScheduler : public Scheduler {
 public:
  FailingScheduler(int failures, Code code) : failures_(failures), code_(code) {}
  SchedulerQuestion Unknown() const override { return {false, true, {}}; }
  Result<SchedulerFacts> Ask(const SchedulerQuestion&, Deadline) const override {
    if (asked++ < failures_) return Fail(code_, "muster-slurm did not answer in time");
    SchedulerFacts facts;
    facts.time_left = std::chrono::hours(1);
    return facts;
  }
  mutable std::atomic<int> asked = 0;

 private:
  const int failures_;
  const Code code_;
};

class SchedulerInquiryTest : public testing::Test {
 protected:
  void Ask(int failures, std::vector<Duration> again, Code code = Code::kDeadline) {
    scheduler = std::make_shared<FailingScheduler>(failures, code);
    inquiry = std::make_unique<SchedulerInquiry>(
        *loop, scheduler, scheduler->Unknown(), milliseconds(1),
        [this](const SchedulerFacts& learned) { facts = learned; }, std::move(again));
  }

  const LogCapture log{LogLevel::kDebug};
  net::TestLoop loop;
  std::shared_ptr<FailingScheduler> scheduler;
  std::optional<SchedulerFacts> facts;
  std::unique_ptr<SchedulerInquiry> inquiry;
};

TEST_F(SchedulerInquiryTest, AFailedQueryIsRepeatedAfterEachPause) {
  Ask(2, {milliseconds(1), milliseconds(1), milliseconds(1)});
  ASSERT_TRUE(loop.Until([&] { return facts.has_value(); }));
  EXPECT_EQ(facts->time_left, std::chrono::hours(1));
  EXPECT_EQ(scheduler->asked, 3);
}

TEST_F(SchedulerInquiryTest, AfterTheLastPauseItEnds) {
  Ask(5, {milliseconds(1)});
  ASSERT_TRUE(loop.Until([&] { return scheduler->asked == 2; }));
  loop.For(milliseconds(50));
  EXPECT_EQ(scheduler->asked, 2);
  EXPECT_FALSE(facts);
}

// The scheduler's commands are not installed.
TEST_F(SchedulerInquiryTest, WithoutASchedulerThereIsOneQuery) {
  Ask(5, {milliseconds(1)}, Code::kConfiguration);
  ASSERT_TRUE(loop.Until([&] { return log.Has("continuing without its answer"); }));
  loop.For(milliseconds(50));
  EXPECT_EQ(scheduler->asked, 1);
}

}  // namespace
}  // namespace muster::rendezvous
