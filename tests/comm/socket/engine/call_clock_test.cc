#include "comm/socket/engine/call_clock.h"

#include <gtest/gtest.h>

namespace muster::socket {
namespace {

using std::chrono::seconds;

Call AllReduce() {
  Call call;
  call.operation = Operation::kAllReduce;
  call.type = DataType::kF32;
  call.sequence = 42;
  call.count = 1024;
  return call;
}

TEST(CallClockTest, CountsFromTheFirstWaitUnlessTheDeadlineIsGiven) {
  const Deadline given = Deadline::At(Clock::time_point(seconds(100)));
  CallClock clock;
  clock.Begin(seconds(5), std::nullopt);
  EXPECT_FALSE(clock.started());
  const Clock::time_point before = Clock::now();
  clock.Start(Deadline::Never());
  EXPECT_TRUE(clock.started());
  EXPECT_GE(clock.deadline().when(), before + seconds(5));
  clock.Stop();
  clock.Begin(seconds(5), given);
  EXPECT_FALSE(clock.started());
  clock.Start(Deadline::Never());
  EXPECT_EQ(clock.deadline(), given);
}

TEST(CallClockTest, NamesTheLimitThatEndedTheCall) {
  const Clock::time_point now = Clock::now();
  struct Case {
    Deadline given, latest, expected;
    const char* message;
  };
  const Deadline soon = Deadline::At(now + seconds(50));
  const Deadline later = Deadline::At(now + seconds(90));
  const Deadline past = Deadline::At(now - seconds(1));
  const char* const by_timeout =
      "AllReduce #42 f32[1024] did not finish within 30s: waiting for rank 2 on gpu02";
  const char* const by_job_end =
      "AllReduce #42 f32[1024] did not finish before the end of the job: waiting for rank 2 on gpu02";
  for (const Case& c : {
           Case{later, Deadline::Never(), later, by_timeout},
           Case{later, soon, soon, by_job_end},
           Case{soon, later, soon, by_timeout},
           Case{soon, soon, soon, by_timeout},
           // A job that has outlived its announced end is not cut short by it.
           Case{soon, past, soon, by_timeout},
       }) {
    CallClock clock;
    clock.Begin(seconds(30), c.given);
    clock.Start(c.latest);
    EXPECT_EQ(clock.deadline(), c.expected);
    const Error error = clock.DeadlineError(AllReduce(), "rank 2 on gpu02");
    EXPECT_EQ(error.code, Code::kDeadline);
    EXPECT_EQ(error.message, c.message);
  }
}

TEST(CallClockTest, TheHintNamesTheKeyOfTheOperation) {
  CallClock clock;
  clock.Begin(seconds(30), std::nullopt);
  clock.Start(Deadline::Never());
  EXPECT_EQ(clock.DeadlineError(AllReduce(), "rank 2").hint,
            "look at what that rank is doing, or raise timeouts.collective");
  Call barrier;
  barrier.operation = Operation::kBarrier;
  EXPECT_EQ(clock.DeadlineError(barrier, "rank 2").hint,
            "look at what that rank is doing, or raise timeouts.barrier");
}

TEST(CallClockTest, TimeInWhichTheProcessWasSuspendedDoesNotCount) {
  const Deadline given = Deadline::At(Clock::time_point(seconds(100)));
  CallClock clock;
  clock.Begin(seconds(5), given);
  clock.Start(Deadline::Never());
  clock.Postpone(seconds(7));
  EXPECT_EQ(clock.deadline(), Deadline::At(given.when() + seconds(7)));
  clock.Stop();
  clock.Begin(seconds(5), Deadline::Never());
  clock.Start(Deadline::Never());
  clock.Postpone(seconds(7));
  EXPECT_TRUE(clock.deadline().IsNever());
}

}  // namespace
}  // namespace muster::socket
