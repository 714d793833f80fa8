// Slurm as a Scheduler, with scripts in the place of muster-slurm.
#include "bootstrap/slurm/slurm_scheduler.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/comm/base/folder.h"
#include "tests/comm/base/print_error.h"

namespace muster::slurm {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

Deadline Soon() { return Deadline::After(seconds(20)); }

class SlurmSchedulerTest : public testing::Test {
 protected:
  SlurmSchedulerTest() {
    resolution.tuple.launcher = "slurm";
    resolution.tuple.rank = 1;
    resolution.tuple.world_size = 3;
    resolution.tuple.node = "gpu02";
    resolution.tuple.job.id = "7";
    resolution.tuple.job.step = "4";
  }

  std::string Helper(const std::string& script) {
    std::string path = folder.Write("helper", script);
    fs::permissions(path, fs::perms(0700));
    return path;
  }
  std::shared_ptr<const rendezvous::Scheduler> Make(const std::optional<std::string>& helper) const {
    return MakeSlurmScheduler(Environment::FromVariables(variables), resolution, placement, helper, timeouts);
  }
  Result<rendezvous::SchedulerFacts> Ask(const std::string& script, Deadline deadline = Soon()) {
    const auto scheduler = Make(Helper(script));
    rendezvous::SchedulerQuestion question = scheduler->Unknown();
    question.nodes = {"gpu01"};
    return scheduler->Ask(question, deadline);
  }
  std::string Said(const std::string& name) const { return folder.Read(name); }

  Folder folder;
  resolve::Resolution resolution;
  Placement placement = {{{"gpu01", 2}, {"gpu02", 1}}, {}};
  TimeoutOptions timeouts;
  Environment::Variables variables = {{"SLURM_GTIDS", "1"}, {"PATH", "/usr/bin:/bin"}};
};

TEST_F(SlurmSchedulerTest, AsksForWhatTheEnvironmentDoesNotSay) {
  EXPECT_TRUE(Make("x")->Unknown().layout);
  EXPECT_TRUE(Make("x")->Unknown().job_end);
  variables["SLURM_JOB_END_TIME"] = "1795164010";
  placement.node_of_rank = {0, 1, 0};
  EXPECT_TRUE(Make("x")->Unknown().empty());
  variables.erase("SLURM_JOB_END_TIME");
  timeouts.cap_at_job_end = false;
  EXPECT_TRUE(Make("x")->Unknown().empty());
}

TEST_F(SlurmSchedulerTest, TellsTheHelperNoSecret) {
  variables["MUSTER_SECRET"] = "4711";
  static_cast<void>(Ask("#!/bin/sh\nenv >" + folder.File("environment") + "\n"));
  EXPECT_NE(Said("environment").find("SLURM_GTIDS=1"), std::string::npos);
  EXPECT_EQ(Said("environment").find("4711"), std::string::npos);
}

TEST_F(SlurmSchedulerTest, IsThereForRanksOfSlurmAlone) {
  EXPECT_TRUE(Make(std::nullopt));
  EXPECT_FALSE(Make("none"));
  resolution.tuple.launcher = "torch-env";
  EXPECT_FALSE(Make(std::nullopt));
}

TEST_F(SlurmSchedulerTest, TellsWhatItHears) {
  timeouts.collective = std::chrono::hours(100);
  const auto facts = Ask(fmt::format(R"(#!/bin/sh
echo "$@" >{}/asked
cat <<END
{{"layouts":[[{{"node":"gpu01","tasks":[0,2]}},{{"node":"gpu02","tasks":[1]}}]],"end_time":$(($(date +%s)+3600)),
 "addresses":{{"gpu01":"198.18.1.1"}},"problems":[]}}
END
)",
                                     folder.path()));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(Said("asked"), "--layout 7.4 --end 7 --address gpu01\n");
  EXPECT_EQ(facts->placement, (Placement{placement.nodes, {0, 1, 0}}));
  EXPECT_EQ(facts->addresses, (std::map<std::string, std::string>{{"gpu01", "198.18.1.1"}}));
  ASSERT_TRUE(facts->time_left);
  EXPECT_LE(*facts->time_left, seconds(3590));
  EXPECT_GT(*facts->time_left, seconds(3400));
  EXPECT_TRUE(facts->time_note.starts_with("cut to the job's end, in ")) << facts->time_note;
  EXPECT_NE(facts->time_note.find("(Slurm): timeouts.collective"), std::string::npos) << facts->time_note;
}

TEST_F(SlurmSchedulerTest, AsksForEachComponent) {
  variables["SLURM_HET_SIZE"] = "2";
  variables["SLURM_JOB_ID_HET_GROUP_0"] = "7";
  variables["SLURM_JOB_ID_HET_GROUP_1"] = "8";
  variables["SLURM_JOB_END_TIME"] = "1795164010";
  const auto facts = Ask(fmt::format(R"(#!/bin/sh
echo "$@" >{}/asked
echo '{{"layouts":[[{{"node":"gpu01","tasks":[0]}}],[{{"node":"gpu01","tasks":[1]}},{{"node":"gpu02","tasks":[0]}}]]}}'
)",
                                     folder.path()));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(Said("asked"), "--layout 7.4 --layout 8.4 --address gpu01\n");
  EXPECT_EQ(facts->placement, (Placement{placement.nodes, {0, 1, 0}}));
}

TEST_F(SlurmSchedulerTest, ALayoutOfSomethingElseIsNotTaken) {
  const auto facts = Ask("#!/bin/sh\necho '{\"layouts\":[[{\"node\":\"gpu09\",\"tasks\":[0,1,2]}]]}'\n");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_FALSE(facts->placement);
}

TEST_F(SlurmSchedulerTest, SaysWhyItKnowsNothing) {
  const auto error = [&](const std::string& script) {
    const auto facts = Ask(script);
    return facts ? Error{} : facts.error();
  };
  EXPECT_EQ(error("#!/bin/sh\necho '{\"problems\":[\"step 7.4: Invalid job id specified\"]}'\n"),
            (Error{Code::kSystem, "muster-slurm: step 7.4: Invalid job id specified", ""}));
  EXPECT_EQ(error("#!/bin/sh\necho one >&2; echo 'fatal: no slurm.conf' >&2; exit 1\n"),
            (Error{Code::kSystem, "muster-slurm ended with 1: fatal: no slurm.conf", ""}));
  EXPECT_EQ(error("#!/bin/sh\nkill -SEGV $$\n"),
            (Error{Code::kSystem, "muster-slurm was killed by signal 11", ""}));
  EXPECT_EQ(error("#!/bin/sh\necho 'Slurm 22'\n"),
            (Error{Code::kDisagreement, "muster-slurm printed no JSON object", ""}));
}

// ThreadSanitizer makes vfork a fork: an error stays in the child.
#if !defined(__SANITIZE_THREAD__)
// The working directory may be a shared one, where another user has put a program of that name.
TEST_F(SlurmSchedulerTest, IsNotLookedForInTheWorkingDirectory) {
  Helper(fmt::format("#!/bin/sh\n: >{}/started\n", folder.path()));
  const std::string before = fs::current_path();
  fs::current_path(folder.path());
  const std::string here = "../" + folder.path().substr(folder.path().rfind('/') + 1);
  const std::vector<std::string> paths = {"", ":/nonexistent", "/nonexistent:", ".", here};
  for (const std::string& path : paths) {
    variables["PATH"] = path;
    const auto facts = Make("helper")->Ask({true, false, {}}, Soon());
    EXPECT_FALSE(facts) << path;
  }
  EXPECT_FALSE(folder.Has("started"));
  variables["PATH"] = ":" + folder.path();
  EXPECT_FALSE(Make("helper")->Ask({true, false, {}}, Soon()));
  fs::current_path(before);
  EXPECT_TRUE(folder.Has("started"));
}

TEST_F(SlurmSchedulerTest, SaysThatThereIsNone) {
  const auto absent = Make(folder.File("no"))->Ask({true, false, {}}, Soon());
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error(), (Error{Code::kConfiguration, "there is no muster-slurm", ""}));
}
#endif

TEST_F(SlurmSchedulerTest, OneThatHangsIsEnded) {
  const std::string hangs = fmt::format("#!/bin/sh\necho $$ >{}/pid\nsleep 1000 &\nwait\n", folder.path());
  const auto facts = Ask(hangs, Deadline::After(seconds(1)));
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error(), (Error{Code::kDeadline, "muster-slurm did not answer in time", ""}));
  const pid_t pid = std::stoi(Said("pid"));
  EXPECT_EQ(kill(pid, 0), -1);
  // The processes that it had started get a signal as well; that takes a moment.
  const Deadline gone = Soon();
  while (kill(-pid, 0) == 0 && !gone.Expired()) usleep(1000);
  EXPECT_EQ(kill(-pid, 0), -1);
}

TEST_F(SlurmSchedulerTest, OneThatOnlyClosesItsOutputIsEndedToo) {
  const auto facts = Ask("#!/bin/sh\nexec >&- 2>&-\nexec sleep 1000\n", Deadline::After(seconds(1)));
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error(), (Error{Code::kDeadline, "muster-slurm did not end in time", ""}));
}

}  // namespace
}  // namespace muster::slurm
