// A root that has waited for some time asks the scheduler; whatever that does, the group forms or fails as it
// would.
#include <gtest/gtest.h>

#include <atomic>

#include "comm/rendezvous/join/joiner.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class FakeScheduler : public Scheduler {
 public:
  SchedulerQuestion Unknown() const override { return unknown; }
  Result<SchedulerFacts> Ask(const SchedulerQuestion& question, Deadline) const override {
    asked_for_layout = question.layout;
    ++asked;
    return answer;
  }

  SchedulerQuestion unknown{true, true, {}};
  Result<SchedulerFacts> answer;
  mutable std::atomic<int> asked = 0;
  mutable std::atomic<bool> asked_for_layout = false;
};

class JoinerSchedulerTest : public testing::Test {
 protected:
  // Only the scheduler has the places of the ranks; ranks 0 and 2 are on a, 1 and 3 on b.
  JoinerSchedulerTest() : requests(MakeRequests({"a", "b", "a", "b"})) {
    facts.placement = requests[0].meeting.placement;
    for (JoinRequest& request : requests) {
      request.meeting.placement.node_of_rank.clear();
      request.scheduler = scheduler;
      request.scheduler_patience = milliseconds(20);
    }
    requests[0].timeouts.rendezvous = seconds(2);
  }
  std::string FailureWithoutRank3() {
    TestGroup group(loop, std::vector<JoinRequest>{requests[0], requests[1], requests[2]});
    if (!loop.Until([&] { return group[0].ended(); })) return "it did not end";
    return group[0].refused()->error.message;
  }

  const LogCapture log;
  net::TestLoop loop;
  std::vector<JoinRequest> requests;
  SchedulerFacts facts;
  const std::shared_ptr<FakeScheduler> scheduler = std::make_shared<FakeScheduler>();
};

TEST_F(JoinerSchedulerTest, NamesTheMissingByItsLayout) {
  scheduler->answer = facts;
  EXPECT_EQ(FailureWithoutRank3(),
            "the group did not form within 2s: 3/4 ranks; missing b: 3 (never connected)");
  EXPECT_EQ(scheduler->asked, 1);
  EXPECT_TRUE(scheduler->asked_for_layout);
}

TEST_F(JoinerSchedulerTest, IsNotAskedByAGroupThatForms) {
  for (JoinRequest& request : requests) request.scheduler_patience = seconds(5);
  requests[0].timeouts.rendezvous = seconds(60);
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  EXPECT_EQ(scheduler->asked, 0);
}

TEST_F(JoinerSchedulerTest, IsNotAskedWhereEverythingIsKnown) {
  scheduler->unknown = {};
  EXPECT_EQ(FailureWithoutRank3(),
            "the group did not form within 2s: 3/4 ranks; missing 3 on b: 1 rank (never connected)");
  EXPECT_EQ(scheduler->asked, 0);
}

TEST_F(JoinerSchedulerTest, OneThatFailsChangesNothingButTheLog) {
  scheduler->answer = Fail(Code::kDeadline, "muster-slurm did not answer in time");
  EXPECT_EQ(FailureWithoutRank3(),
            "the group did not form within 2s: 3/4 ranks; missing 3 on b: 1 rank (never connected)");
  EXPECT_TRUE(log.Has("muster-slurm did not answer in time; continuing without its answer"));
}

TEST_F(JoinerSchedulerTest, TheJobsEndCutsTheWait) {
  requests[0].timeouts.rendezvous = seconds(60);
  facts.time_left = milliseconds(300);
  facts.time_note = "cut to the job's end";
  scheduler->answer = facts;
  const std::string message = FailureWithoutRank3();
  EXPECT_TRUE(message.starts_with("the group did not form within ")) << message;
  EXPECT_EQ(message.find("within 1m"), std::string::npos) << message;
  EXPECT_TRUE(log.Has("cut to the job's end"));
}

}  // namespace
}  // namespace muster::rendezvous
