// Facts that only a live process has: its pid, its parent, and what its ancestors started with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/resolve/detect.h"
#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::resolve {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Environment::Process Live(pid_t pid, pid_t parent) {
  return {.pid = pid, .parent = parent, .uid = 1000, .host_name = "n2"};
}

std::shared_ptr<const Environment> Started(const std::string& text) {
  return std::make_shared<const Environment>(Env(text));
}

// Below a Slurm task, or a supervisor, that was started with these variables.
Environment BelowTask(const std::string& text, const std::string& started) {
  auto process = Live(4800, 4711);
  process.slurm_task = Started(started);
  return Env(text).AsProcess(process);
}
Environment BelowSupervisor(const std::string& text, const std::string& started) {
  auto process = Live(900, 800);
  process.supervisor = Started(started);
  return Env(text).AsProcess(process);
}

TEST(LiveProcess, ThatSlurmStartedItselfIsItsTask) {
  const std::string text = OneTaskANode(4, 1) + "SLURM_TASK_PID=4711\n";
  const Resolution resolution = MustResolve(Env(text + Bare(0, 4, 0)).AsProcess(Live(4711, 4000)));
  EXPECT_EQ(resolution.tuple.launcher, "slurm");
  EXPECT_EQ(resolution.tuple.rank, 1);
  EXPECT_EQ(resolution.tuple.master, std::nullopt);
  EXPECT_EQ(VerdictOn("torch-env", resolution.considered), "overruled");
  EXPECT_THAT(
      resolution.warnings,
      ElementsAre(
          "torch-env (rank 0 of 4 (RANK=0, WORLD_SIZE=4)) is ignored: Slurm started this process "
          "(SLURM_TASK_PID) as rank 1 of 4 (SLURM_PROCID=1, SLURM_STEP_NUM_TASKS=4); do not export it in "
          "the batch script"));
  EXPECT_EQ(MustRefuse(Env(text + Bare(0, 4, 0)).AsProcess(Live(4712, 4711))).error.code,
            Code::kBadEnvironment);
}

// The same export is in every task: one of them reports it.
TEST(LiveProcess, WarnsOfAStaleRankOnce) {
  const auto warners = [](const std::string& culprit) {
    std::vector<int> ranks;
    for (int rank = 0; rank < 4; ++rank) {
      const std::string text = OneTaskANode(4, rank) + "SLURM_TASK_PID=4711\n" + culprit;
      const Resolution resolution = MustResolve(Env(text).AsProcess(Live(4711, 4000)));
      EXPECT_EQ(resolution.tuple.rank, rank) << culprit;
      if (!resolution.warnings.empty()) ranks.push_back(rank);
    }
    return ranks;
  };
  EXPECT_THAT(warners(Bare(0, 4, 0)), ElementsAre(1));
  EXPECT_THAT(warners(Bare(0, 8, 0)), ElementsAre(0));
  EXPECT_THAT(warners(Bare(3, 4, 0)), ElementsAre(0));
  EXPECT_THAT(warners("RANK=0\nWORLD_SIZE=4\n"), ElementsAre(1));
  EXPECT_THAT(warners("WORLD_SIZE=8\n"), ElementsAre(0));
  EXPECT_THAT(warners("RANK=x\nWORLD_SIZE=4\n"), ElementsAre(0));
}

TEST(LiveProcess, OfAStepDoesNotTakeAnOverruledLaunchersMaster) {
  const std::string text = Torchrun(2, 6, 2, 6, 0, 1) + OneTaskANode(4, 1) + "SLURM_TASK_PID=4711\n";
  const Resolution resolution = MustResolve(Env(text).AsProcess(Live(4711, 4000)));
  EXPECT_EQ(resolution.tuple.launcher, "slurm");
  EXPECT_EQ(resolution.tuple.master, std::nullopt);
}

TEST(LiveProcess, OfAnAllocationSaysWhichKindItIs) {
  const auto message = [](std::string step) {
    auto process = Live(5, 4);
    process.slurm_step = std::move(step);
    return MustRefuse(Env(BatchScript()).AsProcess(process)).error.message;
  };
  const std::string rest = " of Slurm job 9 (4 tasks on n[1-2]), not one of its tasks";
  EXPECT_EQ(message("9.batch"), "this is the batch script" + rest);
  EXPECT_EQ(message("9.interactive"), "this is the interactive step" + rest);
  EXPECT_EQ(message("9.extern"), "this is the ssh session" + rest);
  // salloc called inside a step or a batch script.
  EXPECT_EQ(message("8.0"), "this is the salloc shell" + rest);
  EXPECT_EQ(message("8.batch"), "this is the salloc shell" + rest);
}

TEST(LiveProcess, ThatSlurmStartedItselfIgnoresHalfAPair) {
  const std::string text = OneTaskANode(4, 0) + "SLURM_TASK_PID=4711\n";
  for (const char* culprit : {"RANK=2\n", "WORLD_SIZE=8\n", "RANK=x\nWORLD_SIZE=4\nLOCAL_RANK=0\n"}) {
    const Resolution resolution = MustResolve(Env(text + culprit).AsProcess(Live(4711, 4000)));
    EXPECT_EQ(resolution.tuple.rank, 0) << culprit;
    ASSERT_EQ(resolution.warnings.size(), 1u) << culprit;
    EXPECT_THAT(resolution.warnings[0], HasSubstr(std::string(culprit).substr(0, 4)));
  }
}

TEST(LiveProcess, OfASteplessAllocationIsNoTaskThoughItsPidMatches) {
  EXPECT_EQ(MustRefuse(Env(BatchScript()).AsProcess(Live(400, 399))).error.code, Code::kNotLaunched);
}

TEST(LiveProcess, ThatASupervisorStartedItselfIsItsRank) {
  // srun -n2 on two nodes, each `muster launch -n 2`: numbers do not show it.
  const std::string text = OneTaskANode(2, 1) + Muster(0, 2, 0, 2, 0, 1) + Bare(0, 2, 0);
  EXPECT_EQ(MustRefuse(Env(text)).error.code, Code::kBadEnvironment);
  const Resolution resolution = MustResolve(Env(text).AsProcess(Live(501, 500)));
  EXPECT_EQ(resolution.tuple.launcher, "muster");
  EXPECT_EQ(resolution.tuple.rank, 0);
  EXPECT_THAT(resolution.warnings, IsEmpty());
}

TEST(LiveProcess, KnowsThatTorchrunWasStartedInsideTheTask) {
  // srun -n2, each `torchrun --standalone --nproc-per-node 3`: two separate worlds of three.
  const std::string task = OneTaskANode(2, 1) + "SLURM_TASK_PID=4711\n";
  const std::string text = task + Torchrun(2, 3, 2, 3, 0, 1);
  EXPECT_EQ(MustRefuse(Env(text)).error.code, Code::kBadEnvironment);
  const Resolution resolution = MustResolve(BelowTask(text, task));
  EXPECT_EQ(resolution.tuple.launcher, "torchrun");
  EXPECT_EQ(resolution.tuple.rank, 2);
  EXPECT_EQ(VerdictOn("slurm", resolution.considered), "carrier");
}

TEST(LiveProcess, KnowsThatSlurmWasStartedInsideTorchrun) {
  // A torchrun worker runs `srun -n4 sh -c 'program; true'`.
  const std::string text = Torchrun(2, 6, 2, 6, 0, 1) + OneTaskANode(4, 1) + "SLURM_TASK_PID=4711\n";
  const Resolution resolution = MustResolve(BelowTask(text, text));
  EXPECT_EQ(resolution.tuple.launcher, "slurm");
  EXPECT_EQ(resolution.tuple.rank, 1);
  EXPECT_EQ(VerdictOn("torchrun", resolution.considered), "carrier");
}

// Each of two ranks runs `srun -n2 sh -c 'program; true'`: in one task of each step the numbers are equal.
TEST(LiveProcess, KnowsThatSlurmWasStartedInsideALaunchOfEqualNumbers) {
  for (const std::string& outer : {Torchrun(1, 2, 1, 2, 0, 1), Openmpi(1, 2, 1, 2), Hydra(1, 2, 1, 2)}) {
    const std::string text = outer + OneTaskANode(2, 1) + "SLURM_TASK_PID=4711\n";
    const Resolution resolution = MustResolve(BelowTask(text, text));
    EXPECT_EQ(resolution.tuple.launcher, "slurm") << outer;
    EXPECT_EQ(resolution.tuple.master, std::nullopt);
  }
}

TEST(LiveProcess, ABareTupleIsDatedByNobody) {
  const std::string text = OneTaskANode(4, 2) + "SLURM_TASK_PID=4711\n" + Bare(0, 4, 0);
  EXPECT_EQ(MustRefuse(BelowTask(text, text)).error.code, Code::kBadEnvironment);
}

// RANK=0 LOCAL_RANK=0 WORLD_SIZE=8, exported in the batch script: to task 0 of 4 the numbers are like those
// that mp.spawn sets in it.
TEST(LiveProcess, DoesNotTakeAStaleRankOfALargerWorldForABlock) {
  const std::string task = OneTaskANode(4, 0) + "SLURM_TASK_PID=4711\n";
  const std::string text = task + Bare(0, 8, 0);
  EXPECT_EQ(
      MustRefuse(BelowTask(text, text)).error.message,
      "slurm gives rank 0 of 4 (SLURM_PROCID=0, SLURM_STEP_NUM_TASKS=4), but torch-env gives rank 0 of 8 "
      "(RANK=0, WORLD_SIZE=8), and neither started the other");
  const Resolution spawned = MustResolve(BelowTask(text, task));
  EXPECT_EQ(spawned.tuple.launcher, "torch-env");
  EXPECT_EQ(spawned.tuple.world_size, 8);
  EXPECT_EQ(VerdictOn("slurm", spawned.considered), "carrier");
}

// RANK=3 WORLD_SIZE=8 srun -N1 -n1 -w gpu03 ...: a user starts each rank as a step of its own.
TEST(LiveProcess, TakesARankThatWasThereBeforeAStepOfOne) {
  const std::string text = OneTaskANode(1, 0) + "SLURM_TASK_PID=4711\n" + Bare(3, 8, 0);
  const Resolution resolution = MustResolve(BelowTask(text, text));
  EXPECT_EQ(resolution.tuple.launcher, "torch-env");
  EXPECT_EQ(resolution.tuple.rank, 3);
  EXPECT_THAT(
      resolution.warnings,
      ElementsAre("torch-env gives rank 3 of 8 (RANK=3, WORLD_SIZE=8), as set before Slurm started rank 0 "
                  "of 1 (SLURM_PROCID=0, SLURM_STEP_NUM_TASKS=1): if it was not meant for this step, do "
                  "not export it; without this warning: MUSTER_LAUNCHER=torch-env (also --launcher "
                  "torch-env, or launcher: torch-env in the configuration)"));
  EXPECT_THAT(MustResolve(BelowTask(text, text), {.launcher = "torch-env"}).warnings, IsEmpty());
}

// As `muster launch -n 1` and an item of a map set it.
std::string WorldOfOne(const std::string& launch) {
  return Bare(0, 1, 0) + "TORCHELASTIC_RUN_ID=muster-" + launch + "\n";
}

// srun -n4 muster launch -n 1
TEST(LiveProcess, KnowsWhetherTheWorldOfOneOfAMusterWasStartedInsideTheTask) {
  const std::string task = OneTaskANode(4, 2) + "SLURM_TASK_PID=4711\n";
  const auto launcher = [](const std::string& text, const std::string& started) {
    return MustResolve(BelowTask(text, started)).tuple.launcher;
  };
  EXPECT_EQ(launcher(task + WorldOfOne("launch:5:0"), task), "torch-env");
  // Its program has called srun.
  const std::string below = task + WorldOfOne("launch:5:0");
  EXPECT_EQ(launcher(below, below), "slurm");
  EXPECT_EQ(launcher(task + WorldOfOne("launch:6:0"), below), "torch-env");
  // muster run of a step of one task: one world.
  const std::string single = OneTaskANode(1, 0) + "SLURM_TASK_PID=4711\n";
  EXPECT_EQ(launcher(single + WorldOfOne("slurm:9.1:0"), single), "slurm");
}

TEST(LiveProcess, TakesARankThatWasSetWithinAStepOfOneWithoutAWarning) {
  const std::string task = OneTaskANode(1, 0) + "SLURM_TASK_PID=4711\n";
  const Resolution resolution = MustResolve(BelowTask(task + Bare(3, 8, 0), task));
  EXPECT_EQ(resolution.tuple.rank, 3);
  EXPECT_THAT(resolution.warnings, IsEmpty());
}

TEST(LiveProcess, KnowsWhatWasStartedUnderMusterRun) {
  // muster run on two ranks of one node, each runs its own torchrun of two: equal numbers by chance.
  const std::string supervisor = OneTaskANode(1, 0);
  const std::string text = Muster(0, 2, 0, 2, 0, 1) + Torchrun(0, 2, 0, 2, 0, 1);
  const Resolution resolution = MustResolve(BelowSupervisor(text, supervisor));
  EXPECT_EQ(resolution.tuple.launcher, "torchrun");
  EXPECT_EQ(VerdictOn("muster", resolution.considered), "carrier");
}

TEST(LiveProcess, TakesTheTorchTupleOfASupervisorForItsOwn) {
  // A program of muster run, below a step of one task on the same node: RANK is as old as MUSTER_RANK.
  const std::string program = Muster(3, 4, 1, 2, 1, 2) + Bare(3, 4, 1);
  const std::string step = program + OneTaskANode(1, 0) + "SLURM_TASK_PID=4711\n";
  const Resolution task = MustResolve(BelowTask(step, step));
  EXPECT_EQ(task.tuple.launcher, "slurm");
  EXPECT_EQ(task.tuple.master, std::nullopt);
  EXPECT_EQ(VerdictOn("torch-env", task.considered), "carrier");
  // The same program, below an mpirun.
  const Resolution rank = MustResolve(BelowSupervisor(program + Openmpi(2, 3, 2, 3), "HOME=/h\n"));
  EXPECT_EQ(rank.tuple.launcher, "openmpi");
  EXPECT_EQ(rank.tuple.rank, 2);
}

TEST(LiveProcess, KnowsWhatMusterRunWasStartedUnder) {
  // torchrun starts muster run: its variables were there before the supervisor.
  const std::string torchrun = Torchrun(1, 2, 1, 2, 0, 1);
  const Resolution resolution = MustResolve(BelowSupervisor(torchrun + Muster(1, 2, 1, 2, 0, 1), torchrun));
  EXPECT_EQ(resolution.tuple.launcher, "muster");
  EXPECT_EQ(VerdictOn("torchrun", resolution.considered), "same");
}

TEST(LiveProcess, IgnoresAMalformedVariableThatItsTaskStartedWith) {
  const std::string task = OneTaskANode(4, 3) + "SLURM_TASK_PID=4711\n";
  const std::string text = task + "WORLD_SIZE=\n";
  const Resolution resolution = MustResolve(BelowTask(text, text));
  EXPECT_EQ(resolution.tuple.launcher, "slurm");
  EXPECT_EQ(resolution.tuple.rank, 3);
  EXPECT_EQ(VerdictOn("torch-env", resolution.considered), "malformed");
  EXPECT_EQ(MustRefuse(BelowTask(text, task)).error.message, "WORLD_SIZE is set but empty");
}

// sbatch --export=ALL,RANK=4,WORLD_SIZE=4 of one task: no launcher is inside the script, and it is no silent world of one.
TEST(LiveProcess, OfABatchScriptRefusesAMalformedVariableThatItStartedWith) {
  const auto below_the_shell = [](const std::string& exported, const std::string& inside = "") {
    auto process = Live(410, 400);
    process.slurm_task = Started(OneTaskScript() + exported);
    return Env(OneTaskScript() + exported + inside).AsProcess(process);
  };
  EXPECT_EQ(MustRefuse(below_the_shell("RANK=4\nWORLD_SIZE=4\nLOCAL_RANK=0\n")).error.message,
            "RANK=4 is outside WORLD_SIZE=4");
  EXPECT_EQ(MustRefuse(below_the_shell("WORLD_SIZE=\n")).error.message, "WORLD_SIZE is set but empty");
  EXPECT_EQ(MustRefuse(below_the_shell("PMI_RANK=x\nPMI_SIZE=2\n")).error.code, Code::kBadEnvironment);
  EXPECT_EQ(MustResolve(below_the_shell("")).tuple.launcher, "none");
  EXPECT_EQ(MustResolve(below_the_shell("RANK=0\nWORLD_SIZE=1\nLOCAL_RANK=0\n")).tuple.world_size, 1);
  // A launcher inside the script: its ranks are right, whatever was exported.
  const Resolution rank = MustResolve(below_the_shell("WORLD_SIZE=\n", Openmpi(2, 3, 2, 3)));
  EXPECT_EQ(rank.tuple.launcher, "openmpi");
  EXPECT_EQ(rank.tuple.rank, 2);
  EXPECT_EQ(MustResolve(below_the_shell("WORLD_SIZE=\n", Hydra(1, 2, 1, 2))).tuple.launcher, "hydra");
}

// A rank of a training submits its evaluation with sbatch, which passes all variables on.
TEST(LiveProcess, OfABatchScriptIsNoRankOfTheLaunchThatSubmittedIt) {
  const std::string torchrun = Torchrun(0, 2, 0, 2, 0, 1) + "TORCHELASTIC_ERROR_FILE=/tmp/a/0\n";
  const std::string pmix = "PMIX_RANK=3\nPMIX_NAMESPACE=prterun-n1-4@1\n";
  const std::string intel = Hydra(3, 8, 3, 8) + "I_MPI_HYDRA_UUID=a1\n";
  for (const std::string& leaked : {torchrun, Openmpi(3, 8, 3, 8), pmix, intel, WorldOfOne("slurm:8.0:0")}) {
    for (const pid_t pid : {pid_t{410}, pid_t{400}}) {
      auto process = Live(pid, 400);
      if (pid != 400) process.slurm_task = Started(OneTaskScript() + leaked);
      process.slurm_step = "10.batch";
      const Resolution one = MustResolve(Env(OneTaskScript() + leaked).AsProcess(process));
      EXPECT_EQ(one.tuple.launcher, "none") << leaked;
      EXPECT_EQ(one.tuple.world_size, 1);
      EXPECT_EQ(one.tuple.master, std::nullopt);
    }
    const std::string script = BatchScript() + leaked;
    auto process = Live(410, 400);
    process.slurm_task = Started(script);
    process.slurm_step = "9.batch";
    const Refusal refusal = MustRefuse(Env(script).AsProcess(process));
    EXPECT_EQ(refusal.error.message,
              "this is the batch script of Slurm job 9 (4 tasks on n[1-2]), not one of its tasks");
    EXPECT_THAT(refusal.considered,
                Contains(AllOf(Field(&Considered::verdict, "leak"),
                               Field(&Considered::reason,
                                     StartsWith("left over from the process that submitted this job: ")))));
  }
}

// The supervisor of the training goes on, on the same node.
TEST(LiveProcess, OfAnotherBatchJobIsNoProgramOfASupervisorThatAnswers) {
  const Environment script =
      Env(OneTaskScript() + Muster(1, 2, 1, 2, 0, 1) + Bare(1, 2, 1) + "MUSTER_BATCH_JOB=SLURM_JOB_ID=9\n");
  const Resolution one = MustResolve(script.AsProcess(Live(410, 400)));
  EXPECT_EQ(one.tuple.launcher, "none");
  EXPECT_EQ(one.tuple.world_size, 1);
  EXPECT_EQ(VerdictOn("muster", one.considered), "leak");
  EXPECT_EQ(VerdictOn("torch-env", one.considered), "leak");
  // A program of that supervisor that has set SLURM_JOB_ID.
  auto below = Live(502, 501);
  below.below_supervisor = true;
  EXPECT_EQ(MustResolve(script.AsProcess(below)).tuple.launcher, "muster");
}

// A program of muster run calls mpiexec, which starts its proxies with srun, also on the node of that program.
TEST(LiveProcess, BelowMpiexecOfAProgramIsNoRankOfTheSupervisor) {
  auto process = Live(900, 800);
  process.slurm_step = "9.2";
  process.below_supervisor = false;
  const std::string program = OneTaskANode(2, 0) + Muster(0, 2, 0, 1, 0, 2) + Bare(0, 2, 0);
  const Resolution rank = MustResolve(Env(program + Hydra(0, 2, 0, 1)).AsProcess(process));
  EXPECT_EQ(rank.tuple.launcher, "hydra");
  EXPECT_EQ(rank.tuple.master, std::nullopt);
  EXPECT_THAT(rank.warnings, IsEmpty());
  EXPECT_EQ(MustResolve(Env(program + Hydra(1, 4, 1, 2)).AsProcess(process)).tuple.rank, 1);
  EXPECT_EQ(MustRefuse(Env(BatchScript() + Muster(0, 2, 0, 1, 0, 2)).AsProcess(process)).error.code,
            Code::kNotLaunched);
}

// srun -n1 mpiexec -n 4: on the second node the rank is of the proxies' step, and the size of mpiexec's.
TEST(LiveProcess, BelowMpiexecHasTheVariablesOfTwoSteps) {
  auto process = Live(900, 800);
  process.slurm_step = "9.2";
  const Environment mixed = Changed(Env(OneTaskANode(1, 0) + Hydra(2, 4, 0, 2)), {{"SLURM_PROCID", "1"}});
  EXPECT_EQ(MustResolve(mixed.AsProcess(process)).tuple.launcher, "hydra");
}

// No variable of MPICH or DeepSpeed differs in each launch: a launch in the script may have the same numbers.
TEST(LiveProcess, OfABatchScriptIsWarnedOfARankThatItsSubmitterMayHaveHad) {
  const auto warnings = [](const std::string& now, const std::string& at_start, DetectOptions options = {}) {
    auto process = Live(410, 400);
    process.slurm_task = Started(BatchScript() + at_start);
    process.slurm_step = "9.batch";
    return MustResolve(Env(BatchScript() + now).AsProcess(process), options).warnings;
  };
  const std::string hydra = Hydra(3, 8, 3, 8);
  EXPECT_THAT(
      warnings(hydra, hydra),
      ElementsAre("hydra gives rank 3 of 8 (PMI_RANK=3, PMI_SIZE=8), as set before the batch script of Slurm "
                  "job 9 started: if a rank submitted this job, they are its variables; write in the script: "
                  "unset PMI_RANK PMI_SIZE MPI_LOCALRANKID MPI_LOCALNRANKS; without this warning: "
                  "MUSTER_LAUNCHER=hydra (also --launcher hydra, or launcher: hydra in the configuration)"));
  const std::string deepspeed =
      "RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_SIZE=2\nCROSS_RANK=0\nCROSS_SIZE=2\nMASTER_ADDR=n7\n"
      "MASTER_PORT=29500\n";
  EXPECT_THAT(
      warnings(deepspeed, deepspeed),
      ElementsAre(HasSubstr("unset RANK WORLD_SIZE LOCAL_RANK LOCAL_SIZE CROSS_RANK CROSS_SIZE MASTER_ADDR "
                            "MASTER_PORT; without")));
  EXPECT_THAT(warnings(hydra, ""), IsEmpty());
  EXPECT_THAT(warnings(hydra, Hydra(2, 8, 2, 8)), IsEmpty());
  EXPECT_THAT(warnings(hydra, hydra, {.launcher = "hydra"}), IsEmpty());
}

// Rank 0 of the training and rank 0 of the evaluation have the same numbers.
TEST(LiveProcess, IsARankOfTheLaunchInsideThoughTheSubmitterHadEqualNumbers) {
  const auto torchrun = [](const std::string& directory) {
    return Torchrun(0, 2, 0, 2, 0, 1) + "TORCHELASTIC_ERROR_FILE=" + directory + "\n";
  };
  const Resolution in_script =
      MustResolve(BelowTask(OneTaskScript() + torchrun("/tmp/b/0"), OneTaskScript() + torchrun("/tmp/a/0")));
  EXPECT_EQ(in_script.tuple.launcher, "torchrun");
  EXPECT_EQ(in_script.tuple.world_size, 2);
  const std::string task = OneTaskANode(1, 0) + "SLURM_TASK_PID=4711\n";
  const Resolution in_step = MustResolve(BelowTask(task + torchrun("/tmp/b/0"), task + torchrun("/tmp/a/0")));
  EXPECT_EQ(in_step.tuple.launcher, "torchrun");
  EXPECT_EQ(in_step.tuple.world_size, 2);
  EXPECT_EQ(MustResolve(BelowTask(task + torchrun("/tmp/a/0"), task + torchrun("/tmp/a/0"))).tuple.launcher,
            "slurm");
}

TEST(LiveProcess, OfAStepIsNotRefusedForAPmixRankOfItsSubmitter) {
  const std::string task = OneTaskANode(4, 1) + "SLURM_TASK_PID=4711\n";
  const std::string leaked = Openmpi(3, 8, 3, 8);
  const Resolution resolution = MustResolve(BelowTask(task + leaked, task + leaked));
  EXPECT_EQ(resolution.tuple.launcher, "slurm");
  EXPECT_EQ(resolution.tuple.rank, 1);
  EXPECT_EQ(MustRefuse(BelowTask(task + "PMIX_RANK=3\nPMIX_NAMESPACE=77\n", task)).error.message,
            "PMIX_RANK=3 is set, but slurm gives rank 1 of 4 (SLURM_PROCID=1, SLURM_STEP_NUM_TASKS=4)");
}

// `srun --jobid=9` from a shell of job 8, or a job that grew: srun leaves the job's list as it is.
TEST(LiveProcess, OfAStepThatItsSlurmstepdNamesIsATaskWhateverTheListOfTheJob) {
  auto process = Live(5, 4);
  const Environment task = Changed(Env(OneTaskANode(4, 1)), {{"SLURM_JOB_NODELIST", "m[1-2]"}});
  EXPECT_EQ(MustRefuse(task.AsProcess(process)).error.code, Code::kNotLaunched);
  process.slurm_step = "9.1";
  EXPECT_EQ(MustResolve(task.AsProcess(process)).tuple.launcher, "slurm");
  process.slurm_step = "9.2";
  EXPECT_EQ(MustRefuse(task.AsProcess(process)).error.code, Code::kNotLaunched);
}

// `mpiexec -ppn 1 ray start`: Ray orders the nodes itself.
TEST(LiveProcess, OfRayIsItsWorkerBelowTheLauncherOfItsDaemons) {
  const std::string worker =
      "RAY_JOB_ID=1\nRANK=1\nWORLD_SIZE=16\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=4\nNODE_RANK=0\nMASTER_ADDR=n1\n"
      "MASTER_PORT=29500\n";
  for (const int daemon : {0, 1, 3}) {
    EXPECT_EQ(MustResolve(Env(Hydra(daemon, 4, 0, 1) + worker)).tuple.launcher, "ray") << daemon;
    EXPECT_EQ(MustResolve(Env(OneTaskANode(4, daemon) + worker)).tuple.launcher, "ray") << daemon;
  }
  // As many daemons as ranks are none of Ray's.
  EXPECT_EQ(MustRefuse(Env(Hydra(3, 16, 0, 1) + worker)).error.code, Code::kBadEnvironment);
}

// srun sets the variables of the job to those of the step, in every layout.
TEST(LiveProcess, OfAStepOfOneIsItsTaskIfNoSlurmstepdIsVisible) {
  const auto launcher = [](const Environment& environment) {
    return MustResolve(environment.AsProcess(Live(5, 4))).tuple.launcher;
  };
  EXPECT_EQ(launcher(Fixture("srun-one/0")), "slurm");
  // srun -N1 -n1 in a job of three nodes.
  const Environment part =
      Changed(Env(OneTaskANode(1, 0)),
              {{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_JOB_NUM_NODES", "3"}, {"SLURM_NNODES", "1"}});
  EXPECT_EQ(launcher(part), "slurm");
  EXPECT_EQ(launcher(Changed(part, {{"SLURM_NTASKS", std::nullopt}})), "slurm");
  EXPECT_EQ(launcher(Changed(part, {{"SLURM_NNODES", std::nullopt}})), "slurm");
  EXPECT_EQ(launcher(Changed(part, {{"SLURM_TASKS_PER_NODE", "1(x1)"}})), "slurm");
}

// sbatch from a step of one task, where neither slurmstepd nor its control group is visible.
TEST(LiveProcess, OfABatchScriptIsNoTaskOfAnInheritedStepOfOne) {
  const Environment script =
      Changed(Env(OneTaskANode(1, 0)), {{"SLURM_NTASKS", "2"}, {"SLURM_TASKS_PER_NODE", "2"}});
  const Refusal refusal = MustRefuse(script.AsProcess(Live(5, 4)));
  EXPECT_EQ(refusal.error.code, Code::kNotLaunched);
  EXPECT_EQ(VerdictOn("slurm", refusal.considered), "leak");
  // sbatch -N4: without -n, SLURM_NTASKS stays the step's.
  for (const auto& [name, value] :
       {std::pair("SLURM_NNODES", "4"), std::pair("SLURM_TASKS_PER_NODE", "1(x4)"),
        std::pair("SLURM_TASKS_PER_NODE", "4")}) {
    const Environment nodes = Changed(Env(OneTaskANode(1, 0)), {{"SLURM_NNODES", "1"}, {name, value}});
    const Refusal refused = MustRefuse(nodes.AsProcess(Live(5, 4)));
    EXPECT_EQ(refused.error.code, Code::kNotLaunched);
    EXPECT_THAT(refused.considered,
                Contains(AllOf(Field(&Considered::launcher, "slurm"),
                               Field(&Considered::reason, StartsWith(std::string(name) + "=" + value)))));
  }
  auto seen = Live(5, 4);
  seen.slurm_step = "?.batch";
  EXPECT_EQ(MustRefuse(script.AsProcess(seen)).error.message,
            "this is the batch script of Slurm job 9 (2 tasks on n[1-1]), not one of its tasks");
  seen.slurm_step = "9.1";
  EXPECT_EQ(MustResolve(script.AsProcess(seen)).tuple.launcher, "slurm");
  EXPECT_EQ(MustResolve(script.AsProcess(Live(5, 4)), {.launcher = "slurm"}).tuple.launcher, "slurm");
}

}  // namespace
}  // namespace muster::resolve
