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

Environment::Process Live(pid_t pid, pid_t parent) {
  return {.pid = pid, .parent = parent, .uid = 1000, .host_name = "n2"};
}

DetectOptions Unreachable() {
  DetectOptions options;
  options.control_alive = [](const std::string&) { return false; };
  return options;
}

// In a process whose supervisor does not answer.
Refusal Lost(const Environment& environment, const DetectOptions& options = Unreachable()) {
  return MustRefuse(environment.AsProcess(Live(5, 4)), options);
}
Resolution LeftOver(const Environment& environment, const DetectOptions& options = Unreachable()) {
  return MustResolve(environment.AsProcess(Live(5, 4)), options);
}

TEST(DeadSupervisor, LeavesNothingBehind) {
  const std::string text = OneTaskANode(4, 2) + Muster(0, 2, 0, 2, 0, 1) + Bare(0, 2, 0);
  const Resolution resolution = LeftOver(Env(text));
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
  const Refusal refusal = Lost(Env(text));
  EXPECT_EQ(refusal.error, (Error{Code::kBadEnvironment, std::string(kLost),
                                  std::string(kLostHint) +
                                      "; for a world of one: MUSTER_LAUNCHER=none (also --launcher none, or "
                                      "launcher: none in the configuration)"}));
  EXPECT_EQ(VerdictOn("muster", refusal.considered), "malformed");
  DetectOptions alone = Unreachable();
  alone.launcher = "none";
  EXPECT_EQ(LeftOver(Env(text), alone).tuple.world_size, 1);
  // It was a world of one before.
  EXPECT_EQ(LeftOver(Env(Muster(0, 1, 0, 1, 0, 1))).tuple.launcher, "none");
  const Environment named = Changed(Env(text), {{"MUSTER_CONTROL", "/scratch/muster-1-2-3/control-4"}});
  EXPECT_THAT(Lost(named).error.hint, HasSubstr("in a container: bind /scratch into it;"));
}

TEST(LostSupervisor, IsNoSecondGroupOfItsStep) {
  const std::string text = OneTaskANode(2, 1) + Muster(1, 2, 0, 1, 1, 2);
  const Refusal refusal = Lost(Env(text));
  EXPECT_EQ(refusal.error, (Error{Code::kBadEnvironment, std::string(kLost), std::string(kLostHint)}));
  // This program is no task of the step: nothing waits for it.
  EXPECT_EQ(refusal.awaited, std::nullopt);
  const Environment next = Changed(Env(text), {{"SLURM_STEP_ID", "2"}});
  EXPECT_EQ(LeftOver(next).tuple.launcher, "slurm");
}

// sbatch of one task from inside a rank.
TEST(LostSupervisor, OfAnotherJobIsLeftOver) {
  const std::string job = OneTaskScript();
  const Environment script = Env(job + Muster(1, 2, 0, 1, 1, 2) + Bare(1, 2, 0));
  const Resolution resolution = LeftOver(script);
  EXPECT_EQ(resolution.tuple.launcher, "none");
  EXPECT_THAT(
      resolution.warnings,
      ElementsAre(
          "MUSTER_CONTROL=@muster-1 does not answer or is not ours: left over from another muster run"));
  const Environment same = Changed(script, {{"MUSTER_JOB_KEY", "slurm:10.0:0"}});
  EXPECT_EQ(Lost(same).error.code, Code::kBadEnvironment);
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
  EXPECT_EQ(Lost(script).error.message, kLost);
}

// muster launch -n 4 in a Slurm job, or muster run of several ranks a task: Slurm's variables are those of the rank.
TEST(LostSupervisor, OfSeveralRanksOfATaskIsNamed) {
  const std::string rewritten =
      "SLURM_JOB_ID=9\nSLURM_JOB_NODELIST=n[1-2]\nSLURM_JOB_NUM_NODES=2\nSLURM_TASKS_PER_NODE=2(x2)\n"
      "SLURM_NTASKS=2\nSLURM_PROCID=1\nSLURM_LOCALID=1\nSLURM_NODEID=0\nSLURM_GTIDS=0,1\nSLURMD_NODENAME=n1\n"
      "MUSTER_OUTER_SLURM_JOB_ID=9\nMUSTER_OUTER_SLURM_PROCID=0\n";
  const Environment launch =
      Changed(Env(rewritten + Muster(1, 2, 1, 2, 0, 1) + Bare(1, 2, 1)),
              {{"MUSTER_JOB_KEY", "launch:4711:0"}, {"MUSTER_BATCH_JOB", "SLURM_JOB_ID=9"}});
  const Refusal refusal = Lost(launch);
  EXPECT_EQ(refusal.error.message, kLost);
  EXPECT_THAT(refusal.error.hint, HasSubstr("bind /dev/shm into it;"));
  const Environment run = Changed(launch, {{"MUSTER_JOB_KEY", "slurm:9.1:0"},
                                           {"SLURM_STEP_ID", "1"},
                                           {"MUSTER_OUTER_SLURM_STEP_ID", "1"},
                                           {"SLURM_STEP_NODELIST", "n1"},
                                           {"SLURM_STEP_NUM_NODES", "1"},
                                           {"SLURM_STEP_NUM_TASKS", "2"},
                                           {"SLURM_STEP_TASKS_PER_NODE", "2"}});
  EXPECT_EQ(Lost(run).error.message, kLost);
  // A launcher inside gives the rank.
  const Environment inside = Env(rewritten + Muster(1, 2, 1, 2, 0, 1) + Openmpi(0, 3, 0, 3));
  EXPECT_EQ(LeftOver(inside).tuple.launcher, "openmpi");
  // Another job of several tasks, submitted by such a program.
  const Environment next = Changed(launch, {{"SLURM_JOB_ID", "10"},
                                            {"SLURM_TASK_PID", "400"},
                                            {"SLURM_GTIDS", "0"},
                                            {"SLURM_PROCID", "0"},
                                            {"SLURM_LOCALID", "0"}});
  EXPECT_EQ(Lost(next).error.code, Code::kNotLaunched);
}

// N programs in containers, below a launcher that gives each the tuple of its supervisor.
TEST(LostSupervisor, IsNoSecondGroupOfItsLaunch) {
  struct Row {
    std::string launcher;
    std::string variables;
    std::string key;
    Environment::Variables::value_type next;  // of another launch
  };
  const std::string flux = "FLUX_TASK_RANK=1\nFLUX_JOB_SIZE=2\nFLUX_TASK_LOCAL_ID=1\nFLUX_JOB_ID=f58\n";
  const std::string pals = "PALS_RANKID=1\nPMI_RANK=1\nPMI_SIZE=2\nPALS_LOCAL_RANKID=1\nPALS_APID=a5\n";
  for (const Row& row :
       {Row{"openmpi", Openmpi(1, 2, 1, 2), "openmpi:77:0", {"OMPI_MCA_ess_base_jobid", "78"}},
        Row{"flux", flux, "flux:f58:0", {"FLUX_JOB_ID", "f59"}},
        Row{"pals", pals, "pals:a5:0", {"PALS_APID", "a6"}}}) {
    const Environment program =
        Changed(Env(Muster(1, 2, 1, 2, 0, 1) + row.variables), {{"MUSTER_JOB_KEY", row.key}});
    EXPECT_EQ(Lost(program).error, (Error{Code::kBadEnvironment, std::string(kLost), std::string(kLostHint)}))
        << row.launcher;
    const auto launcher = [&](std::string_view name, std::string_view value) {
      return LeftOver(Changed(program, {{name, value}})).tuple.launcher;
    };
    EXPECT_EQ(launcher(row.next.first, row.next.second), row.launcher);
    EXPECT_EQ(launcher("MUSTER_RANK", "0"), row.launcher);
    EXPECT_EQ(launcher("MUSTER_WORLD_SIZE", "3"), row.launcher);
    DetectOptions forced = Unreachable();
    forced.launcher = row.launcher;
    EXPECT_EQ(LeftOver(program, forced).tuple.launcher, row.launcher);
  }
  // Keys that several launches of a job, or of one user, may have.
  const auto left_over = [](const std::string& variables, const char* key) {
    const Environment rank = Changed(Env(Muster(1, 2, 1, 2, 0, 1) + variables), {{"MUSTER_JOB_KEY", key}});
    return LeftOver(rank).tuple.launcher;
  };
  const std::string jsrun =
      "JSM_NAMESPACE_RANK=1\nJSM_NAMESPACE_SIZE=2\nJSM_NAMESPACE_LOCAL_RANK=1\nJSM_NAMESPACE_LOCAL_SIZE="
      "2\nLSB_JOBID=4\n";
  EXPECT_EQ(left_over(jsrun, "jsrun:4:0"), "jsrun");
  EXPECT_EQ(left_over(Hydra(1, 2, 1, 2), "hydra:-:0"), "hydra");
  EXPECT_EQ(left_over(Torchrun(1, 2, 1, 2, 0, 1), "torchrun:r:0"), "torchrun");
}

// A container with its own user, which the supervisor does not accept.
TEST(LostSupervisor, OfAnotherUserIsNamed) {
  DetectOptions options = Unreachable();
  options.control_owner = [](const std::string&) { return std::optional<uid_t>(1000); };
  const Refusal refusal = Lost(Env(Muster(1, 2, 1, 2, 0, 1) + Bare(1, 2, 1)), options);
  EXPECT_EQ(
      refusal.error.message,
      "the supervisor at MUSTER_CONTROL=@muster-1 belongs to another user, uid 1000, but this process has "
      "MUSTER_RANK=1 and MUSTER_WORLD_SIZE=2");
  EXPECT_THAT(
      refusal.error.hint,
      HasSubstr(
          "in a container: run it as that user, such as with --user 1000; if that muster run has ended: "));
  const std::string below = Muster(1, 2, 1, 2, 0, 1) + Openmpi(3, 4, 3, 4);
  EXPECT_EQ(LeftOver(Env(below), options).tuple.launcher, "openmpi");
}

TEST(LostSupervisor, BelowAnotherLauncherIsLeftOver) {
  const std::string text = Muster(1, 2, 1, 2, 0, 1);
  EXPECT_EQ(LeftOver(Env(text + Torchrun(1, 2, 1, 2, 0, 1))).tuple.launcher, "torchrun");
  EXPECT_EQ(LeftOver(Env(text + Openmpi(3, 4, 3, 4))).tuple.launcher, "openmpi");
}

}  // namespace
}  // namespace muster::resolve
