#include "comm/socket/engine/wait_rules.h"

#include <gtest/gtest.h>

namespace muster::socket {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Clock::time_point kNow(seconds(1000));

Deadline At(int offset) { return Deadline::At(kNow + seconds(offset)); }

TEST(WaitRulesTest, FailsWithTheLostPeerIfThereIsOneAndWithTheDeadlineOtherwise) {
  const Deadline never = Deadline::Never();
  struct Case {
    const char* what;
    Deadline deadline;
    bool lost;
    Deadline report_at;
    WaitVerdict verdict;
  };
  for (const Case& c : {
           Case{"nothing is due", At(5), false, never, WaitVerdict::kGoOn},
           Case{"no limit at all", never, false, never, WaitVerdict::kGoOn},
           Case{"past the deadline", At(-1), false, never, WaitVerdict::kFailDeadline},
           Case{"at the deadline", At(0), false, never, WaitVerdict::kFailDeadline},
           Case{"the control plane still has time for the cause", At(5), true, At(2), WaitVerdict::kGoOn},
           Case{"it has had its time", At(5), true, At(0), WaitVerdict::kFailLost},
           Case{"it has had its time, no deadline", never, true, At(-1), WaitVerdict::kFailLost},
           Case{"the deadline comes first: the loss says more", At(-1), true, At(2), WaitVerdict::kFailLost},
           Case{"a loss that is never reported by itself", At(5), true, never, WaitVerdict::kGoOn},
           Case{"a loss that is never reported by itself, late", At(0), true, never, WaitVerdict::kFailLost},
       }) {
    EXPECT_EQ(Judge(c.deadline, c.lost, c.report_at, kNow), c.verdict) << c.what;
  }
}

TEST(WaitRulesTest, AProcessWasSuspendedIfItWokeUpMuchLaterThanPlanned) {
  struct Case {
    Duration away, suspended;
  };
  for (const Case& c : {
           Case{milliseconds(0), seconds(0)},
           Case{seconds(1), seconds(0)},
           Case{milliseconds(2999), seconds(0)},
           Case{seconds(3), seconds(2)},
           Case{seconds(3600), seconds(3599)},
       }) {
    EXPECT_EQ(SuspendedFor(kNow, kNow + c.away), c.suspended) << c.away.count();
  }
}

TEST(WaitRulesTest, SpinsForAFewPeersIfItMay) {
  EXPECT_TRUE(SpinsFor(1, true));
  EXPECT_TRUE(SpinsFor(8, true));
  EXPECT_FALSE(SpinsFor(9, true));
  EXPECT_FALSE(SpinsFor(1, false));
}

TEST(WaitRulesTest, PostponesADeadlineAndNotNever) {
  EXPECT_EQ(Postponed(At(5), seconds(3)), At(8));
  EXPECT_TRUE(Postponed(Deadline::Never(), seconds(3)).IsNever());
}

}  // namespace
}  // namespace muster::socket
