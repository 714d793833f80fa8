#include "bootstrap/environment/batch_job.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(BatchJobs, AreNamedByTheirVariables) {
  EXPECT_EQ(BatchJobs({}), "none");
  EXPECT_EQ(BatchJobs({{"SLURM_JOB_ID", "9"}, {"PBS_JOBID", "7[2].server"}, {"LSB_JOBID", ""}}),
            "PBS_JOBID=7[2].server SLURM_JOB_ID=9");
  EXPECT_EQ(BatchJobs({{"LSB_JOBID", "4"}}), "LSB_JOBID=4");
  EXPECT_EQ(BatchJobs({{"FLUX_URI", "local:///run/flux/a/local-0"}}), "FLUX_URI=local:///run/flux/a/local-0");
  EXPECT_EQ(BatchJobs({{"JOB_ID", "7"}}), "none");
  EXPECT_EQ(BatchJobs({{"JOB_ID", "7"}, {"SGE_JOB_SPOOL_DIR", "/s/n1/active_jobs/17.1"}}), "none");
  EXPECT_EQ(BatchJobs({{"JOB_ID", "7"}, {"SGE_JOB_SPOOL_DIR", "/s/n1/active_jobs/7.1"}}), "JOB_ID=7");
}

TEST(BatchJobs, AreOtherOnesIfNoneWasRecorded) {
  const auto is_other = [](const char* record, Environment::Variables variables) {
    variables["MUSTER_BATCH_JOB"] = record;
    return IsOfAnotherBatchJob(Environment::FromVariables(std::move(variables)));
  };
  EXPECT_TRUE(is_other("none", {{"LSB_JOBID", "4"}}));
  EXPECT_TRUE(is_other("LSB_JOBID=4", {{"LSB_JOBID", "5"}}));
  EXPECT_TRUE(is_other("SLURM_JOB_ID=4", {{"PBS_JOBID", "5"}}));
  EXPECT_TRUE(is_other("none", {{"FLUX_URI", "local:///tmp/b"}}));
  EXPECT_TRUE(is_other("FLUX_URI=local:///tmp/a", {{"FLUX_URI", "local:///tmp/b"}}));
  EXPECT_FALSE(is_other("FLUX_URI=local:///tmp/a", {{"FLUX_URI", "local:///tmp/a"}}));
  EXPECT_FALSE(is_other("LSB_JOBID=4", {{"LSB_JOBID", "4"}}));
  EXPECT_FALSE(is_other("LSB_JOBID=4", {{"LSB_JOBID", "4"}, {"PBS_JOBID", "4"}}));
  EXPECT_FALSE(is_other("LSB_JOBID=4", {}));
  EXPECT_FALSE(is_other("none", {}));
  EXPECT_FALSE(IsOfAnotherBatchJob(Environment::FromVariables({{"LSB_JOBID", "4"}})));
}

}  // namespace
}  // namespace muster
