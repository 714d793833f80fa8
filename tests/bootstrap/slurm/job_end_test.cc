#include "bootstrap/slurm/job_end.h"

#include <gtest/gtest.h>

namespace muster::slurm {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int64_t kNow = 1700000000;

std::optional<Duration> Left(std::string end) {
  return TimeLeftOfJob(Environment::FromVariables({{"SLURM_JOB_END_TIME", std::move(end)}}), kNow);
}

TEST(TimeLeftOfJob, IsKnownWhereSlurmSaysIt) {
  EXPECT_EQ(Left(std::to_string(kNow + 60)), seconds(60));
  EXPECT_EQ(TimeLeftOfJob(Environment::FromVariables({}), kNow), std::nullopt);
}

TEST(TimeLeftOfJob, IsUnknownWhereTheTimeHasPassedOrIsNone) {
  EXPECT_EQ(Left(std::to_string(kNow)), std::nullopt);
  EXPECT_EQ(Left(std::to_string(kNow - 5)), std::nullopt);
  EXPECT_EQ(Left("4294967294"), std::nullopt);
  EXPECT_EQ(Left("soon"), std::nullopt);
  EXPECT_EQ(Left(""), std::nullopt);
}

TEST(CapAtJobEnd, NothingReachesBeyondIt) {
  TimeoutOptions timeouts;
  timeouts.rendezvous = minutes(10);
  timeouts.init = seconds(30);
  const TimeoutOptions capped = CapAtJobEnd(timeouts, minutes(2));
  EXPECT_EQ(capped.rendezvous, seconds(110));
  EXPECT_EQ(capped.init, seconds(30));
  EXPECT_EQ(capped.collective, timeouts.collective);
  EXPECT_LE(capped.latest.Remaining(), seconds(110));
  EXPECT_GT(capped.latest.Remaining(), seconds(90));
}

TEST(CapAtJobEnd, CanBeSwitchedOff) {
  TimeoutOptions timeouts;
  timeouts.cap_at_job_end = false;
  EXPECT_EQ(CapAtJobEnd(timeouts, minutes(2)), timeouts);
  EXPECT_EQ(DescribeCap(timeouts, minutes(2)), "");
  EXPECT_EQ(CapAtJobEnd(TimeoutOptions{}, std::nullopt), TimeoutOptions{});
}

TEST(DescribeCap, SaysWhatIsCut) {
  TimeoutOptions timeouts;
  timeouts.collective = hours(16);
  EXPECT_EQ(
      DescribeCap(timeouts, hours(1)),
      "cut to the job's end, in 1h (SLURM_JOB_END_TIME): timeouts.collective (16h); "
      "timeouts.cap_at_job_end: false leaves them as they are, for jobs whose time limit will be extended");
  EXPECT_EQ(DescribeCap(timeouts, hours(24)), "");
}

}  // namespace
}  // namespace muster::slurm
