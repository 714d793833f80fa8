// Refusals, forcing, borrowing and deriving; nested launches are in containment_test.cc.
#include "bootstrap/resolve/detect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/environment/tuple_reader.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::resolve {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

TEST(Refused, KeepsTheAllocation) {
  const Refusal refusal = MustRefuse(Fixture("sbatch-script/0"));
  const Allocation expected{.manager = "slurm",
                            .job_id = "13",
                            .kind = "batch script",
                            .nodelist = "gpu[01-03]",
                            .num_nodes = 3,
                            .tasks = 6,
                            .node = "gpu01"};
  EXPECT_EQ(refusal.allocation, expected);
  EXPECT_EQ(refusal.error.hint,
            "start it with srun: srun muster ...; for a world of one: MUSTER_LAUNCHER=none (also --launcher "
            "none, or launcher: none in the configuration)");
  EXPECT_EQ(VerdictOn("slurm", refusal.considered), "absent");
}

TEST(Refused, NamesTheKindOfAllocation) {
  EXPECT_EQ(MustRefuse(Fixture("salloc-shell/x")).error.message,
            "this is the salloc shell of Slurm job 11 (4 tasks on gpu[01-02]), not one of its tasks");
  EXPECT_EQ(MustRefuse(Fixture("slurm25.11-interactive/0")).error.message,
            "this is the interactive step of Slurm job 7 (4 tasks on r[01-02]), not one of its tasks");
  EXPECT_EQ(MustRefuse(Fixture("slurm25.11-batch/0")).error.message,
            "this is the batch script of Slurm job 1 (6 tasks on r[01-03]), not one of its tasks");
}

TEST(Refused, ShowsBothSidesAndHowToForce) {
  const Refusal refusal = MustRefuse(Fixture("srun-stale-rank/3"));
  EXPECT_EQ(
      refusal.error.hint,
      "look for an \"export RANK\" in the batch script or a profile and remove it, or force the right one "
      "with MUSTER_LAUNCHER=slurm (also --launcher slurm, or launcher: slurm in the configuration) or "
      "torch-env");
  EXPECT_EQ(VerdictOn("slurm", refusal.considered), "contradicts");
  EXPECT_EQ(VerdictOn("torch-env", refusal.considered), "contradicts");
  EXPECT_EQ(refusal.allocation, std::nullopt);
}

TEST(Refused, KnowsWhichTaskOfAStepTheOthersWaitFor) {
  const auto awaited = [](const Environment& environment, const DetectOptions& options = {}) {
    const Refusal refusal = MustRefuse(environment, options);
    if (!refusal.awaited) return std::string("nobody");
    const RankTuple& tuple = refusal.awaited->tuple;
    return fmt::format("{} {}/{} on {}", tuple.launcher, tuple.rank, tuple.world_size,
                       tuple.node.value_or("?"));
  };
  EXPECT_EQ(awaited(Fixture("srun-stale-rank/3")), "slurm 3/4 on gpu002");
  EXPECT_EQ(awaited(Env(OneTaskANode(4, 2) + "WORLD_SIZE=8\n")), "slurm 2/4 on n3");
  EXPECT_EQ(awaited(Env(OneTaskANode(4, 2) + "OMPI_COMM_WORLD_RANK=x\n")), "slurm 2/4 on n3");
  EXPECT_EQ(awaited(Env(OneTaskANode(4, 2)), {.launcher = "torchrun"}), "slurm 2/4 on n3");
  EXPECT_EQ(awaited(Env(OneTaskANode(4, 2)), {.launcher = "sulrm"}), "slurm 2/4 on n3");
  // Of a program under muster run its supervisor is waited for.
  EXPECT_EQ(awaited(Env(OneTaskANode(4, 2) + Muster(0, 2, 0, 2, 0, 1))), "nobody");
  EXPECT_EQ(awaited(Env(OneTaskANode(4, 2) + "MUSTER_RANK=x\n")), "nobody");
  EXPECT_EQ(awaited(Fixture("sbatch-script/0")), "nobody");
  EXPECT_EQ(awaited(Env("RANK=1\n")), "nobody");
}

TEST(Refused, StrippedStep) {
  const Environment stripped =
      Changed(Fixture("srun-block/5"), {{"SLURM_STEP_ID", std::nullopt},
                                        {"SLURM_STEPID", std::nullopt},
                                        {"SLURM_STEP_NODELIST", std::nullopt},
                                        {"SLURM_STEP_NUM_TASKS", std::nullopt},
                                        {"SLURM_STEP_NUM_NODES", std::nullopt},
                                        {"SLURM_STEP_TASKS_PER_NODE", std::nullopt}});
  const Refusal refusal = MustRefuse(stripped);
  EXPECT_EQ(refusal.error.code, Code::kBadEnvironment);
  EXPECT_EQ(
      refusal.error.message,
      "this is probably a task of a Slurm step, with a part of its variables removed: missing SLURM_STEP_ID, "
      "SLURM_STEP_NODELIST, SLURM_STEP_NUM_TASKS, SLURM_STEP_NUM_NODES");
  EXPECT_EQ(refusal.allocation->kind, "step, its variables removed");
  const Resolution forced = MustResolve(stripped, {.launcher = "slurm"});
  EXPECT_EQ(forced.tuple.rank, 5);
  EXPECT_EQ(forced.tuple.world_size, 8);
  EXPECT_EQ(forced.tuple.local_world_size, 2);
  EXPECT_EQ(forced.tuple.num_nodes, 4);
  EXPECT_THAT(forced.warnings,
              ElementsAre("the step's own variables are missing: SLURM_NTASKS is taken for the world size"));
}

TEST(Refused, ABatchScriptEvenWhenSlurmIsForced) {
  for (const char* name :
       {"sbatch-script/0", "slurm25.11-batch/0", "slurm25.11-interactive/0", "salloc-shell/x"}) {
    const Refusal refusal = MustRefuse(Fixture(name), {.launcher = "slurm"});
    EXPECT_EQ(refusal.error.code, Code::kNotLaunched) << name;
  }
}

// A profile that exports what is not there.
TEST(NoAllocation, IsAnEmptyJob) {
  const Resolution resolution = MustResolve(Env("SLURM_JOB_ID=\nSLURM_JOB_NODELIST=\n"));
  EXPECT_EQ(resolution.tuple.launcher, "none");
  EXPECT_EQ(resolution.allocation, std::nullopt);
  EXPECT_THAT(resolution.considered, Contains(AllOf(Field(&Considered::launcher, "slurm"),
                                                    Field(&Considered::reason, "no SLURM_JOB_ID"))));
  EXPECT_EQ(MustResolve(Env("SLURM_JOB_ID=\n")).tuple.world_size, 1);
  EXPECT_EQ(MustRefuse(Env("SLURM_JOB_ID=\nSLURM_JOB_NODELIST=n[1-2]\n")).error.code, Code::kNotLaunched);
  EXPECT_EQ(MustRefuse(Env("SLURM_JOB_ID=9\nSLURM_JOB_NODELIST=\n")).error.code, Code::kNotLaunched);
}

TEST(SingleTask, IsAWorldOfOne) {
  const Environment script = Env(
      "SLURM_JOB_ID=9\nSLURM_JOB_NODELIST=n1\nSLURM_JOB_NUM_NODES=1\nSLURM_TASKS_PER_NODE=1\nSLURM_PROCID=0\n"
      "SLURM_LOCALID=0\nSLURM_NODEID=0\nSLURM_GTIDS=0\nSLURMD_NODENAME=n1\n");
  const Resolution resolution = MustResolve(script);
  EXPECT_EQ(resolution.tuple.launcher, "none");
  EXPECT_EQ(resolution.tuple.world_size, 1);
  EXPECT_EQ(resolution.tuple.node, "n1");
  EXPECT_EQ(resolution.tuple.job.key, "none:9:0");
  EXPECT_EQ(resolution.allocation->job_id, "9");
  EXPECT_EQ(MustRefuse(Changed(script, {{"SLURM_HET_SIZE", "2"}})).error.code, Code::kNotLaunched);
  EXPECT_EQ(
      MustRefuse(Changed(script, {{"SLURM_HET_SIZE", "2"}, {"SLURM_JOB_ID_HET_GROUP_0", "9"}})).error.code,
      Code::kNotLaunched);
  // sbatch from inside the heterogeneous job 7.
  EXPECT_EQ(MustResolve(Changed(script, {{"SLURM_HET_SIZE", "2"},
                                         {"SLURM_JOB_ID_HET_GROUP_0", "7"},
                                         {"SLURM_JOB_ID_HET_GROUP_1", "8"}}))
                .tuple.launcher,
            "none");
  EXPECT_EQ(MustRefuse(Changed(script, {{"SLURM_TASKS_PER_NODE", "1(x2)"}, {"SLURM_JOB_NUM_NODES", "2"}}))
                .error.code,
            Code::kNotLaunched);
  EXPECT_EQ(MustRefuse(Changed(script, {{"SLURM_TASKS_PER_NODE", std::nullopt}})).error.code,
            Code::kNotLaunched);
}

TEST(Master, OfAHostAloneIsIgnoredWithAWarning) {
  const Resolution resolution = MustResolve(Env("RANK=0\nWORLD_SIZE=2\nLOCAL_RANK=0\nMASTER_ADDR=vm\n"));
  EXPECT_EQ(resolution.tuple.master, std::nullopt);
  EXPECT_THAT(resolution.warnings,
              ElementsAre("MASTER_ADDR=vm is ignored, because MASTER_PORT is not set: set both"));
}

TEST(Master, MayBeThisHostByAnyName) {
  for (const char* name :
       {"localhost", "localhost.localdomain", "localhost4", "ip6-loopback", "127.0.1.1", "::1"})
    EXPECT_TRUE(IsLoopback(name)) << name;
  for (const char* name : {"localhost-1", "n1", "10.0.0.1", "", "fd00::1", "0.0.0.0", "::"})
    EXPECT_FALSE(IsLoopback(name)) << name;
  for (const char* name : {"0.0.0.0", "::"}) EXPECT_TRUE(IsAnyAddress(name)) << name;
  for (const char* name : {"localhost", "127.0.0.1", "::1", "n1", ""})
    EXPECT_FALSE(IsAnyAddress(name)) << name;
}

TEST(Master, IsReadWithoutBrackets) {
  for (const char* name : {"[fd00::1]", "fd00::1"}) {
    const Environment rank = Changed(Env(Bare(0, 2, 0)), {{"MASTER_ADDR", name}});
    EXPECT_EQ(MustResolve(rank).tuple.master, (Endpoint{"fd00::1", 29500})) << name;
  }
}

// A container passes SLURM_* on, and no SLURMD_NODENAME.
TEST(NodeOfASlurmTask, IsFoundByTheHostNameOrTheLayout) {
  const Environment task = Changed(Env(OneTaskANode(2, 1)), {{"SLURMD_NODENAME", std::nullopt}});
  const auto on = [](const Environment& environment, const char* host) {
    return environment.AsProcess({.pid = 5, .host_name = host, .slurm_step = "9.1"});
  };
  const auto node = [&](const Environment& environment, const char* host) {
    return MustResolve(on(environment, host)).tuple.node;
  };
  EXPECT_EQ(node(task, "n2"), "n2");
  EXPECT_EQ(node(task, "n2.cluster"), "n2");
  EXPECT_EQ(node(task, "6f0e1c"), "n2");
  const Environment arbitrary = Changed(task, {{"SLURM_DISTRIBUTION", "arbitrary"}});
  EXPECT_EQ(node(arbitrary, "n1"), "n1");
  EXPECT_EQ(node(Changed(Env(OneTaskANode(1, 0)), {{"SLURMD_NODENAME", std::nullopt}}), "6f0e1c"), "n1");
  EXPECT_EQ(node(arbitrary, "6f0e1c"), "n2");
  EXPECT_EQ(node(Changed(arbitrary, {{"SLURMD_NODENAME", ""}}), "6f0e1c"), "n2");
  EXPECT_EQ(
      node(Changed(task, {{"SLURM_STEP_TASKS_PER_NODE", std::nullopt}, {"SLURMD_NODENAME", ""}}), "6f0e1c"),
      "n2");
  // The list may be one component's, and SLURM_NODEID counts along another.
  const Environment components = Changed(arbitrary, {{"SLURM_HET_SIZE", "2"}});
  EXPECT_EQ(MustRefuse(on(components, "6f0e1c")).error,
            (Error{Code::kBadEnvironment,
                   "SLURMD_NODENAME is not set, and neither the host name, 6f0e1c, nor the layout gives this "
                   "node's name in SLURM_STEP_NODELIST=n[1-2]",
                   "let the container or wrapper pass SLURMD_NODENAME on"}));
}

TEST(Singleton, IsCompleteAndSaysSo) {
  const Resolution resolution = MustResolve(Environment().AsProcess({.pid = 5, .host_name = "laptop"}));
  const RankTuple expected{.launcher = "none",
                           .rank = 0,
                           .world_size = 1,
                           .local_rank = 0,
                           .local_world_size = 1,
                           .node_rank = 0,
                           .num_nodes = 1,
                           .node = "laptop",
                           .job = {.key = "none:-:0"},
                           .master = std::nullopt};
  EXPECT_EQ(resolution.tuple, expected);
  EXPECT_THAT(resolution.warnings, IsEmpty());
  EXPECT_EQ(resolution.considered.size(), Launchers().size() - 1);
}

constexpr const char* kPmixServer = "PMIX_SERVER_URI41=pmix-server.7368;tcp4://127.0.0.1:53313\n";

DetectOptions SaidByPmix(const PmixPlace& place, std::string launcher = "auto") {
  DetectOptions options;
  options.launcher = std::move(launcher);
  options.pmix = place;
  return options;
}

TEST(ABarePmixRank, IsRefusedUntilItsServerHasBeenAsked) {
  const std::string rank = "PMIX_RANK=3\nPMIX_NAMESPACE=slurm.pmix.9.1\n";
  EXPECT_FALSE(MustRefuse(Env(rank)).ask_pmix);
  const Refusal refusal = MustRefuse(Env(rank + kPmixServer));
  EXPECT_TRUE(refusal.ask_pmix);
  EXPECT_EQ(refusal.error.message,
            "PMIX_RANK=3 is a rank (PMIX_NAMESPACE=slurm.pmix.9.1), but the size of its world is unknown");
  const Resolution resolution = MustResolve(Env(rank + kPmixServer), SaidByPmix({4, {}, "2,3", 2, 2}));
  EXPECT_EQ(resolution.tuple.launcher, "pmix");
  EXPECT_EQ(resolution.tuple.rank, 3);
  EXPECT_EQ(resolution.tuple.world_size, 4);
  EXPECT_EQ(resolution.tuple.local_rank, 1);
  EXPECT_FALSE(MustRefuse(Env(rank + kPmixServer), SaidByPmix({})).ask_pmix);
}

// Variables of the step that pass into a container cause no refusal.
TEST(ABarePmixRank, OfAStrippedStepIsAskedFor) {
  const Environment stripped =
      Changed(Env(OneTaskANode(4, 2) + "PMIX_RANK=2\nPMIX_NAMESPACE=slurm.pmix.9.1\n" + kPmixServer),
              {{"SLURM_STEP_NUM_TASKS", std::nullopt}});
  EXPECT_TRUE(MustRefuse(stripped).ask_pmix);
  EXPECT_FALSE(MustRefuse(stripped, {.launcher = "torchrun"}).ask_pmix);
  EXPECT_EQ(MustResolve(stripped, SaidByPmix({4, {}, "2", 1, 4})).tuple.launcher, "pmix");
}

// Open MPI's daemons, one task of Slurm on each node, and their ranks without OMPI_*.
TEST(ABarePmixRank, UnderADaemonOfSlurmIsAskedFor) {
  const Environment rank =
      Env(OneTaskANode(3, 0) + "PMIX_RANK=1\nPMIX_NAMESPACE=prterun-n1-7@1\n" + kPmixServer);
  EXPECT_TRUE(MustRefuse(rank).ask_pmix);
  const Resolution resolution = MustResolve(rank, SaidByPmix({6, {}, "0,1", 2, 3}));
  EXPECT_EQ(resolution.tuple.launcher, "pmix");
  EXPECT_EQ(VerdictOn("slurm", resolution.considered), "carrier");
}

TEST(Forced, PmixAsksItsServerAndBorrowsTheRestOfSlurm) {
  const Environment task =
      Changed(Fixture("srun-pmix/4"), {{"PMIX_SERVER_URI41", "pmix-server.1;tcp4://h:1"}});
  EXPECT_TRUE(MustRefuse(task, {.launcher = "pmix"}).ask_pmix);
  const Resolution slurm = MustResolve(task);
  EXPECT_EQ(slurm.tuple.launcher, "slurm");
  const auto size = static_cast<uint32_t>(slurm.tuple.world_size);
  const Resolution resolution = MustResolve(task, SaidByPmix({size, {}, {}, {}, {}}, "pmix"));
  EXPECT_EQ(resolution.tuple.launcher, "pmix");
  EXPECT_EQ(resolution.tuple.rank, slurm.tuple.rank);
  EXPECT_EQ(resolution.tuple.local_rank, slurm.tuple.local_rank);
  EXPECT_EQ(resolution.tuple.node_rank, slurm.tuple.node_rank);
  EXPECT_EQ(VerdictOn("slurm", resolution.considered), "same");
}

TEST(Forced, TakesOneLauncherWhateverTheOthersSay) {
  const Environment stale = Fixture("srun-stale-rank/3");
  const Resolution slurm = MustResolve(stale, {.launcher = "slurm"});
  EXPECT_EQ(slurm.tuple.rank, 3);
  EXPECT_EQ(VerdictOn("torch-env", slurm.considered), "overruled");
  const Resolution torch = MustResolve(stale, {.launcher = "torch-env"});
  EXPECT_EQ(torch.tuple.rank, 0);
  EXPECT_EQ(torch.tuple.world_size, 4);
  const Resolution none = MustResolve(stale, {.launcher = "none"});
  EXPECT_EQ(none.tuple.world_size, 1);
  EXPECT_EQ(none.tuple.launcher, "none");
}

TEST(Forced, TorchEnvReadsTorchrunsVariablesAndNeedsNoLocalRank) {
  EXPECT_EQ(MustResolve(Fixture("torchrun-standalone/2"), {.launcher = "torch-env"}).tuple.rank, 2);
  EXPECT_EQ(MustResolve(Env("RANK=1\nWORLD_SIZE=4\n"), {.launcher = "torch-env"}).tuple.rank, 1);
}

TEST(Forced, ButAbsent) {
  const Refusal refusal = MustRefuse(Fixture("srun-block/0"), {.launcher = "torchrun"});
  EXPECT_EQ(refusal.error.code, Code::kNotLaunched);
  EXPECT_EQ(refusal.error.message, "launcher torchrun was requested, but there is no TORCHELASTIC_RUN_ID");
  EXPECT_EQ(refusal.error.hint,
            "start this process with torchrun, or leave the launcher to muster: --launcher auto");
  EXPECT_EQ(MustRefuse(Environment(), {.launcher = "slurm"}).error.hint,
            "start this process with srun, or leave the launcher to muster: --launcher auto");
  EXPECT_EQ(MustRefuse(Environment(), {.launcher = "explicit"}).error.hint, "write --rank R --world-size N");
}

TEST(Forced, ButUnknown) {
  const Refusal refusal = MustRefuse(Environment(), {.launcher = "sulrm"});
  EXPECT_EQ(refusal.error.code, Code::kConfiguration);
  EXPECT_EQ(refusal.error.message, "there is no launcher called \"sulrm\", did you mean slurm?");
  for (const auto& [command, name] : {std::pair("srun", "slurm"),
                                      {"mpirun", "openmpi"},
                                      {"mpiexec", "hydra"},
                                      {"accelerate", "torchrun"},
                                      {"SLURM", "slurm"}}) {
    EXPECT_EQ(MustRefuse(Environment(), {.launcher = command}).error.message,
              fmt::format("there is no launcher called \"{}\", did you mean {}?", command, name));
  }
  // Words of our prose about launchers.
  for (const std::string word : {"with", "own", "containers", "a"}) {
    EXPECT_EQ(MustRefuse(Environment(), {.launcher = word}).error.message,
              fmt::format("there is no launcher called \"{}\"", word));
  }
}

TEST(Explicit, WinsOverEverything) {
  DetectOptions options;
  options.explicit_tuple = {.rank = 1, .world_size = 2, .local_rank = {}, .endpoint = Endpoint{"n1", 61000}};
  const Resolution resolution = MustResolve(Fixture("srun-stale-rank/3"), options);
  EXPECT_EQ(resolution.tuple.launcher, "explicit");
  EXPECT_EQ(resolution.tuple.rank, 1);
  EXPECT_EQ(resolution.tuple.world_size, 2);
  EXPECT_EQ(resolution.tuple.local_rank, std::nullopt);
  EXPECT_EQ(resolution.tuple.job.key, "explicit:n1:61000:0");
  EXPECT_EQ(VerdictOn("slurm", resolution.considered), "overruled");
}

TEST(Explicit, OverrulesAWorldOfOne) {
  DetectOptions options;
  options.explicit_tuple = {.rank = 0, .world_size = 1};
  const std::vector<Considered> considered = MustResolve(Environment(), options).considered;
  const auto none = std::ranges::find(considered, "none", &Considered::launcher);
  ASSERT_NE(none, considered.end());
  EXPECT_EQ(none->reason, "a world of one");
  options.explicit_tuple = {.rank = 2, .world_size = 2};
  EXPECT_EQ(MustRefuse(Environment(), options).error,
            (Error{Code::kUsage, "--rank=2 is outside --world-size=2", "correct it: ranks count from 0"}));
}

TEST(Explicit, IsAPair) {
  const auto message = [](ExplicitTuple tuple) {
    const Refusal refusal = MustRefuse(Environment(), {.explicit_tuple = std::move(tuple)});
    EXPECT_EQ(refusal.error.code, Code::kUsage);
    return refusal.error.message;
  };
  EXPECT_EQ(message({.rank = 1}), "--world-size is missing: --rank and --world-size go together");
  EXPECT_EQ(message({.world_size = 1}), "--rank is missing: --rank and --world-size go together");
  EXPECT_EQ(message({.local_rank = 1}), "--rank is missing: --rank and --world-size go together");
  EXPECT_EQ(message({.rank = 2, .world_size = 2}), "--rank=2 is outside --world-size=2");
  EXPECT_EQ(message({.rank = -1, .world_size = 2}), "--rank -1 is negative");
  EXPECT_EQ(message({.rank = 1, .world_size = 2, .local_rank = 2}),
            "--local-rank=2 is outside --world-size=2");
}

TEST(Borrow, FillsOnlyWhatTheWinnerDoesNotDefine) {
  const Resolution resolution = MustResolve(Fixture("srun-boilerplate/3"));
  EXPECT_EQ(resolution.tuple.launcher, "slurm");
  EXPECT_EQ(resolution.tuple.master, (Endpoint{"gpu001", 29500}));
  ASSERT_FALSE(resolution.sources.empty());
  EXPECT_EQ(resolution.sources.back(), (FieldSource{"master", "MASTER_ADDR, MASTER_PORT", "torch-env"}));
}

TEST(Borrow, WarnsOfAnotherLocalRank) {
  const Resolution resolution = MustResolve(Changed(Fixture("srun-boilerplate/3"), {{"LOCAL_RANK", "3"}}));
  EXPECT_EQ(resolution.tuple.local_rank, 0);
  EXPECT_THAT(resolution.warnings,
              ElementsAre("LOCAL_RANK=3 is ignored: slurm gives local rank 0 (SLURM_LOCALID)"));
}

TEST(Borrow, NodeNameFromTheCarrierButNotUnderHydra) {
  EXPECT_EQ(MustResolve(Env(OneTaskANode(2, 1) + Torchrun(3, 4, 1, 2, 1, 2))).tuple.node, "n2");
  EXPECT_EQ(MustResolve(Env(OneTaskANode(2, 1) + Openmpi(3, 4, 1, 2))).tuple.node, "n2");
  EXPECT_EQ(MustResolve(Env(OneTaskANode(2, 1) + Hydra(3, 4, 1, 2))).tuple.node, std::nullopt);
  const Environment live =
      Env(OneTaskANode(2, 1) + Hydra(3, 4, 1, 2)).AsProcess({.pid = 5, .host_name = "n7"});
  EXPECT_EQ(MustResolve(live).tuple.node, "n7");
}

TEST(Borrow, MusterTakesTheJobsPartsFromWhoeverBearsItsName) {
  const Resolution resolution = MustResolve(Env(OneTaskANode(2, 1) + Muster(1, 2, 0, 1, 1, 2)));
  EXPECT_EQ(resolution.tuple.job, (JobIdentity{.key = "slurm:9.1:0", .id = "9", .step = "1", .restart = 0}));
}

TEST(Derive, LocalWorldSizeOfSpawnedBlocks) {
  EXPECT_EQ(MustResolve(Env(OneTaskANode(2, 1) + Bare(3, 4, 1))).tuple.local_world_size, 2);
  EXPECT_EQ(MustResolve(Env(Bare(3, 4, 1))).tuple.local_world_size, std::nullopt);
}

TEST(Derive, OneNode) {
  const Resolution resolution = MustResolve(Fixture("mpirun-mpich-alone/1"));
  EXPECT_EQ(resolution.tuple.num_nodes, 1);
  EXPECT_EQ(resolution.tuple.node_rank, 0);
  const Resolution spread = MustResolve(Fixture("mpirun-ompi-in-salloc/5"));
  EXPECT_EQ(spread.tuple.num_nodes, 3);
  EXPECT_EQ(spread.tuple.node_rank, std::nullopt);
}

TEST(Allocation, IsShownOnlyWhereThisIsNoTaskOfAStep) {
  EXPECT_EQ(MustResolve(Fixture("srun-block/0")).allocation, std::nullopt);
  EXPECT_EQ(MustResolve(Fixture("mpirun-ompi-in-salloc/0")).allocation, std::nullopt);
  EXPECT_EQ(MustResolve(Fixture("sbatch-torchrun/0")).allocation->kind, "batch script");
}

TEST(BatchScript, WithABareTupleIsWarnedAbout) {
  const Resolution resolution = MustResolve(Env(BatchScript() + Bare(0, 4, 0)));
  EXPECT_EQ(resolution.tuple.launcher, "torch-env");
  EXPECT_THAT(
      resolution.warnings,
      ElementsAre(
          "rank 0 of 4 (RANK=0, WORLD_SIZE=4) was set by hand in the batch script of Slurm job 9: if it was "
          "meant for srun, start with srun and do not export it"));
  // muster launch -n 1
  const std::string launched = Bare(0, 1, 0) + "TORCHELASTIC_RUN_ID=muster-launch:5:0\n";
  EXPECT_THAT(MustResolve(Env(BatchScript() + launched)).warnings, IsEmpty());
}

// pyxis removes Slurm's variables of the task, and enroot's hook sets PyTorch's variables.
TEST(StrippedStep, WithEnrootsTupleIsNoMistake) {
  const Environment container = Changed(Env(OneTaskANode(2, 1) + Bare(1, 2, 0)),
                                        {{"SLURM_PROCID", std::nullopt}, {"SLURM_LOCALID", std::nullopt}});
  const Resolution resolution = MustResolve(container);
  EXPECT_EQ(resolution.tuple.launcher, "torch-env");
  EXPECT_EQ(resolution.tuple.rank, 1);
  EXPECT_EQ(resolution.allocation->kind, "step, its variables removed");
  EXPECT_THAT(resolution.warnings, IsEmpty());
  EXPECT_EQ(VerdictOn("slurm", resolution.considered), "incomplete");
}

TEST(Considered, HasEveryOtherLauncherInOrder) {
  std::vector<std::string> names;
  for (const Considered& one : MustResolve(Fixture("srun-block/0")).considered) {
    names.push_back(one.launcher);
    EXPECT_NE(one.reason, "") << one.launcher;
    EXPECT_NE(one.verdict, "") << one.launcher;
  }
  std::vector<std::string> others;
  for (const Launcher* launcher : Launchers()) {
    if (launcher->name != "slurm") others.emplace_back(launcher->name);
  }
  EXPECT_EQ(names, others);
}

}  // namespace
}  // namespace muster::resolve
