// MUSTER_CONTROL that does not answer: left over, or a supervisor that a container hides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/resolve/detect.h"
#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::resolve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::Bare;
using testing_support::Changed;
using testing_support::Env;
using testing_support::Muster;
using testing_support::MustRefuse;
using testing_support::MustResolve;
using testing_support::OneTaskANode;
using testing_support::OneTaskScript;
using testing_support::Openmpi;
using testing_support::Torchrun;
using testing_support::VerdictOn;

Environment::Process Live(pid_t pid, pid_t parent) {
  return {.pid = pid, .parent = parent, .uid = 1000, .host_name = "n2"};
}

DetectOptions Unreachable() {
  DetectOptions options;
  options.control_alive = [](const std::string&) { return false; };
  return options;
}

TEST(DeadSupervisor, LeavesNothingBehind) {
  const std::string text = OneTaskANode(4, 2) + Muster(0, 2, 0, 2, 0, 1) + Bare(0, 2, 0);
  DetectOptions options;
  options.control_alive = [](const std::string&) { return false; };
  const Resolution resolution = MustResolve(Env(text).AsProcess(Live(5, 4)), options);
  EXPECT_EQ(resolution.tuple.launcher, "slurm");
  EXPECT_EQ(resolution.tuple.rank, 2);
  EXPECT_EQ(resolution.tuple.master, std::nullopt);
  EXPECT_EQ(VerdictOn("muster", resolution.considered), "leak");
  EXPECT_EQ(VerdictOn("torch-env", resolution.considered), "leak");
  EXPECT_THAT(
      resolution.warnings,
      ElementsAre(
          "MUSTER_CONTROL=@muster-1 does not answer or is not ours: left over from another muster run"));
}

constexpr std::string_view kLost =
    "no supervisor answers at MUSTER_CONTROL=@muster-1, but this process has MUSTER_RANK=1 and "
    "MUSTER_WORLD_SIZE=2";
constexpr std::string_view kLostHint =
    "in a container: bind /dev/shm into it; if that muster run has ended: unset RANK, WORLD_SIZE and "
    "MUSTER_*";

// N programs in containers without /dev/shm would each do all the work.
TEST(LostSupervisor, IsNoWorldOfOne) {
  const std::string text = Muster(1, 2, 1, 2, 0, 1) + Bare(1, 2, 1);
  const Refusal refusal = MustRefuse(Env(text).AsProcess(Live(5, 4)), Unreachable());
  EXPECT_EQ(refusal.error, (Error{Code::kBadEnvironment, std::string(kLost),
                                  std::string(kLostHint) +
                                      "; for a world of one: MUSTER_LAUNCHER=none (also --launcher none, or "
                                      "launcher: none in the configuration)"}));
  EXPECT_EQ(VerdictOn("muster", refusal.considered), "malformed");
  DetectOptions alone = Unreachable();
  alone.launcher = "none";
  EXPECT_EQ(MustResolve(Env(text).AsProcess(Live(5, 4)), alone).tuple.world_size, 1);
  // It was a world of one before.
  EXPECT_EQ(MustResolve(Env(Muster(0, 1, 0, 1, 0, 1)).AsProcess(Live(5, 4)), Unreachable()).tuple.launcher,
            "none");
  const Environment named = Changed(Env(text), {{"MUSTER_CONTROL", "/scratch/muster-1-2-3/control-4"}});
  EXPECT_THAT(MustRefuse(named.AsProcess(Live(5, 4)), Unreachable()).error.hint,
              HasSubstr("in a container: bind /scratch into it;"));
}

TEST(LostSupervisor, IsNoSecondGroupOfItsStep) {
  const std::string text = OneTaskANode(2, 1) + Muster(1, 2, 0, 1, 1, 2);
  const Refusal refusal = MustRefuse(Env(text).AsProcess(Live(5, 4)), Unreachable());
  EXPECT_EQ(refusal.error, (Error{Code::kBadEnvironment, std::string(kLost), std::string(kLostHint)}));
  // This program is no task of the step: nothing waits for it.
  EXPECT_EQ(refusal.awaited, std::nullopt);
  const Environment next = Changed(Env(text), {{"SLURM_STEP_ID", "2"}});
  EXPECT_EQ(MustResolve(next.AsProcess(Live(5, 4)), Unreachable()).tuple.launcher, "slurm");
}

// sbatch of one task from inside a rank.
TEST(LostSupervisor, OfAnotherJobIsLeftOver) {
  const std::string job = OneTaskScript();
  const Environment script = Env(job + Muster(1, 2, 0, 1, 1, 2) + Bare(1, 2, 0));
  const Resolution resolution = MustResolve(script.AsProcess(Live(5, 4)), Unreachable());
  EXPECT_EQ(resolution.tuple.launcher, "none");
  EXPECT_THAT(
      resolution.warnings,
      ElementsAre(
          "MUSTER_CONTROL=@muster-1 does not answer or is not ours: left over from another muster run"));
  const Environment same = Changed(script, {{"MUSTER_JOB_KEY", "slurm:10.0:0"}});
  EXPECT_EQ(MustRefuse(same.AsProcess(Live(5, 4)), Unreachable()).error.code, Code::kBadEnvironment);
}

// Of a launch under any launcher, whose program has submitted this job.
TEST(LostSupervisor, OfAnotherBatchJobIsLeftOver) {
  const std::string inherited = Muster(1, 2, 1, 2, 0, 1) + Bare(1, 2, 1);
  const auto with = [&](const std::string& record, const std::string& job) {
    const Environment script = Changed(Env(inherited + job), {{"MUSTER_JOB_KEY", "launch:4711:0"}});
    return Changed(script, {{"MUSTER_BATCH_JOB", record}}).AsProcess(Live(5, 4));
  };
  const std::string grid_engine = "SGE_JOB_SPOOL_DIR=/s/n1/active_jobs/7.1\n";
  for (const std::string& job :
       {std::string("LSB_JOBID=7\n"), std::string("PBS_JOBID=7\n"), "JOB_ID=7\n" + grid_engine}) {
    const std::string name = job.substr(0, job.find('='));
    EXPECT_EQ(MustResolve(with("none", job), Unreachable()).tuple.launcher, "none") << job;
    EXPECT_EQ(MustResolve(with(name + "=6", job), Unreachable()).tuple.launcher, "none") << job;
    EXPECT_EQ(MustRefuse(with(name + "=7", job), Unreachable()).error.message, kLost) << job;
  }
  EXPECT_EQ(MustRefuse(with("none", ""), Unreachable()).error.message, kLost);
  EXPECT_EQ(MustRefuse(with("LSB_JOBID=7", ""), Unreachable()).error.message, kLost);
}

// sbatch of one task from inside a muster launch of a release that records no batch job.
TEST(LostSupervisor, OlderThanTheTaskOfABatchScriptIsLeftOver) {
  const std::string job = OneTaskScript();
  const Environment script =
      Changed(Env(job + Muster(1, 2, 1, 2, 0, 1)), {{"MUSTER_JOB_KEY", "launch:4711:0"}});
  auto process = Live(5, 4);
  process.slurm_task = std::make_shared<const Environment>(script);
  EXPECT_EQ(MustResolve(script.AsProcess(process), Unreachable()).tuple.launcher, "none");
  // The supervisor is inside the task: this may be its program, in a container.
  process.slurm_task = std::make_shared<const Environment>(Env(job));
  EXPECT_EQ(MustRefuse(script.AsProcess(process), Unreachable()).error.message, kLost);
  EXPECT_EQ(MustRefuse(script.AsProcess(Live(5, 4)), Unreachable()).error.message, kLost);
}

TEST(LostSupervisor, BelowAnotherLauncherIsLeftOver) {
  const std::string text = Muster(1, 2, 1, 2, 0, 1);
  EXPECT_EQ(
      MustResolve(Env(text + Torchrun(1, 2, 1, 2, 0, 1)).AsProcess(Live(5, 4)), Unreachable()).tuple.launcher,
      "torchrun");
  EXPECT_EQ(MustResolve(Env(text + Openmpi(3, 4, 3, 4)).AsProcess(Live(5, 4)), Unreachable()).tuple.launcher,
            "openmpi");
}

}  // namespace
}  // namespace muster::resolve
