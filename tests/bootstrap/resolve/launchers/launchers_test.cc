// Each probe on its own: what is absent, a tuple, incomplete, malformed or left over.
#include "bootstrap/resolve/launchers/launchers.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/bootstrap/resolve/fixtures.h"

namespace muster::resolve {
namespace {

Probed Probe(std::string_view launcher, const Environment& environment, const ProbeContext& context = {}) {
  return FindLauncher(launcher)->Probe(environment, context);
}

// Fails the test if it is another.
template <typename T>
T As(const Probed& probed, std::string_view what = "") {
  const T* found = std::get_if<T>(&probed);
  EXPECT_NE(found, nullptr) << what;
  return found != nullptr ? *found : T();
}

// The user's own choice comes first. Variables that users also set by hand, and then nothing, come last.
TEST(Launchers, AreInTheirOrder) {
  std::vector<const Launcher*> rows(Launchers().begin(), Launchers().end());
  EXPECT_EQ(rows.front()->role, LauncherRole::kFlags);
  EXPECT_EQ(rows[1]->role, LauncherRole::kSupervisor);
  EXPECT_EQ(rows[rows.size() - 2]->role, LauncherRole::kBareTuple);
  EXPECT_EQ(rows.back()->role, LauncherRole::kAlone);
  EXPECT_EQ(FindLauncher("lsf"), nullptr);
}

TEST(Launchers, AreEachNamedOnce) {
  std::set<std::string_view> names;
  for (const Launcher* launcher : Launchers()) {
    EXPECT_TRUE(names.insert(launcher->name).second) << launcher->name;
    EXPECT_FALSE(launcher->tested.empty() && launcher->documented.empty()) << launcher->name;
  }
}

TEST(Launchers, AllButNoneAreAbsentFromAnEmptyEnvironment) {
  for (const Launcher* launcher : Launchers()) {
    const Probed probed = launcher->Probe(Environment(), {});
    EXPECT_EQ(std::holds_alternative<Candidate>(probed), launcher->role == LauncherRole::kAlone)
        << launcher->name;
    if (launcher->role == LauncherRole::kAlone) continue;
    ASSERT_TRUE(std::holds_alternative<Absent>(probed)) << launcher->name;
    EXPECT_FALSE(std::get<Absent>(probed).leaked) << launcher->name;
  }
}

// Beside those of every launcher (malformed_test.cc).
struct MalformedCase {
  const char* launcher;
  const char* environment;
  const char* message;
};

class MalformedTest : public testing::TestWithParam<MalformedCase> {};

TEST_P(MalformedTest, NamesTheVariable) {
  const auto probed =
      As<Malformed>(Probe(GetParam().launcher, Env(GetParam().environment)), GetParam().environment);
  EXPECT_EQ(probed.error.code, Code::kBadEnvironment);
  EXPECT_EQ(probed.error.message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedTest,
    testing::Values(
        MalformedCase{"torch-env", "RANK=0\nWORLD_SIZE=4\nLOCAL_RANK=2\nLOCAL_WORLD_SIZE=2",
                      "LOCAL_RANK=2 is outside LOCAL_WORLD_SIZE=2"},
        MalformedCase{"torch-env", "RANK=0\nWORLD_SIZE=4\nLOCAL_RANK=4",
                      "LOCAL_RANK=4 is outside WORLD_SIZE=4"},
        MalformedCase{"torch-env", "RANK=0\nWORLD_SIZE=4\nLOCAL_RANK=2\nLOCAL_WORLD_SIZE=5",
                      "LOCAL_WORLD_SIZE=5 is more than WORLD_SIZE=4"},
        MalformedCase{"torch-env", "RANK=0\nWORLD_SIZE=4\nLOCAL_RANK=0\nMASTER_ADDR=a\nMASTER_PORT=0",
                      "MASTER_PORT=\"0\" is not a port from 1 to 65535"},
        MalformedCase{"torch-env", "WORLD_SIZE=x",
                      "WORLD_SIZE=\"x\" is not a whole number from 0 to 2147483647"},
        MalformedCase{"torchrun", "TORCHELASTIC_RUN_ID=a\nRANK=0\nWORLD_SIZE=2",
                      "TORCHELASTIC_RUN_ID and RANK are set but LOCAL_RANK is not"},
        MalformedCase{
            "torchrun",
            "TORCHELASTIC_RUN_ID=a\nRANK=0\nWORLD_SIZE=2\nLOCAL_RANK=0\nGROUP_RANK=2\nGROUP_WORLD_SIZE=2",
            "GROUP_RANK=2 is outside GROUP_WORLD_SIZE=2"},
        MalformedCase{"torch-env", "RANK=0\nWORLD_SIZE=4\nLOCAL_RANK=0\nGROUP_RANK=376",
                      "GROUP_RANK=376 is outside WORLD_SIZE=4"},
        MalformedCase{
            "torchrun",
            "TORCHELASTIC_RUN_ID=a\nRANK=0\nWORLD_SIZE=2\nLOCAL_RANK=0\nGROUP_RANK=0\nGROUP_WORLD_SIZE=3",
            "GROUP_WORLD_SIZE=3 is more than WORLD_SIZE=2: a node without a rank"},
        MalformedCase{"deepspeed", "CROSS_RANK=0\nRANK=0\nLOCAL_RANK=0",
                      "RANK=0 is set but WORLD_SIZE is not: half a pair"},
        MalformedCase{"pmix", "PMIX_RANK=x", "PMIX_RANK=\"x\" is not a whole number from 0 to 2147483647"},
        MalformedCase{"muster", "MUSTER_RANK=1\nMUSTER_WORLD_SIZE=2",
                      "MUSTER_RANK=1 is set but MUSTER_CONTROL is not"},
        MalformedCase{"muster", "MUSTER_RANK=1\nMUSTER_WORLD_SIZE=2\nMUSTER_CONTROL=@x\nMUSTER_GROUP=12",
                      "MUSTER_GROUP=\"12\" is not a group id of 32 hex digits"}));

constexpr const char* kGroup = "MUSTER_GROUP=0123456789abcdef0123456789abcdef\n";

struct SlurmCase {
  const char* variable;
  const char* value;
  const char* message;
};

class MalformedSlurmTest : public testing::TestWithParam<SlurmCase> {};

TEST_P(MalformedSlurmTest, NamesTheVariable) {
  const auto& c = GetParam();
  const auto probed =
      As<Malformed>(Probe("slurm", Changed(Fixture("srun-block/5"), {{c.variable, c.value}})), c.variable);
  EXPECT_EQ(probed.error.code, Code::kBadEnvironment);
  EXPECT_EQ(probed.error.message, c.message);
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedSlurmTest,
    testing::Values(
        SlurmCase{"SLURM_GTIDS", "5,4", "SLURM_GTIDS=\"5,4\" is not in ascending order"},
        SlurmCase{"SLURM_GTIDS", "4,,5", "SLURM_GTIDS=\"4,,5\": \"\" is not a rank"},
        SlurmCase{"SLURM_NODEID", "4", "SLURM_NODEID=4 is outside SLURM_STEP_NUM_NODES=4"},
        SlurmCase{"SLURM_STEP_NUM_NODES", "0", "SLURM_STEP_NUM_NODES=0: there is at least one"},
        SlurmCase{"SLURM_STEP_ID", "x", "SLURM_STEP_ID=\"x\" is not a step number"},
        SlurmCase{"SLURM_STEP_ID", "1", "SLURM_STEP_ID=1 and SLURM_STEPID=0 are the same thing but differ"},
        SlurmCase{"SLURM_STEP_NODELIST", "gpu[01-04",
                  "SLURM_STEP_NODELIST: \"gpu[01-04\" is not a host list: a \"[\" without its \"]\""},
        SlurmCase{"SLURM_STEP_TASKS_PER_NODE", "2(x",
                  "SLURM_STEP_TASKS_PER_NODE: \"2(x\" is not a list of tasks per node such as 2(x3),1: "
                  "\"2(x\" is not a count"}));

struct LeakCase {
  const char* variable;
  const char* value;
  const char* reason;
};

class LeakedStepTest : public testing::TestWithParam<LeakCase> {};

TEST_P(LeakedStepTest, IsRecognised) {
  const auto& c = GetParam();
  const auto probed =
      As<Absent>(Probe("slurm", Changed(Fixture("srun-block/5"), {{c.variable, c.value}})), c.variable);
  EXPECT_TRUE(probed.leaked);
  EXPECT_EQ(probed.reason, std::string("the step variables are left over from another step: ") + c.reason);
}

INSTANTIATE_TEST_SUITE_P(
    All, LeakedStepTest,
    testing::Values(LeakCase{"SLURMD_NODENAME", "gpu09",
                             "SLURMD_NODENAME=gpu09 is not in SLURM_STEP_NODELIST=gpu[01-04]"},
                    LeakCase{"SLURM_JOB_NODELIST", "gpu[02-04]",
                             "gpu01 of SLURM_STEP_NODELIST=gpu[01-04] is not a node of this job "
                             "(SLURM_JOB_NODELIST=gpu[02-04])"},
                    LeakCase{"SLURM_STEP_TASKS_PER_NODE", "2(x3)",
                             "SLURM_STEP_TASKS_PER_NODE=2(x3) is not SLURM_STEP_NUM_TASKS=8"},
                    LeakCase{"SLURM_STEP_TASKS_PER_NODE", "5,1(x3)",
                             "SLURM_GTIDS=4,5 are 2 tasks, but SLURM_STEP_TASKS_PER_NODE=5,1(x3)"}));

// Hydra lays one task's variables over another's; alone, that is an error too.
TEST(Slurm, WithTheVariablesOfTwoTasksIsNoTuple) {
  const auto message = [](std::string_view variable, std::string_view value) {
    const Probed probed = Probe("slurm", Changed(Fixture("srun-block/5"), {{variable, value}}));
    const auto* incomplete = std::get_if<Incomplete>(&probed);
    return incomplete != nullptr ? incomplete->error.message : "something else";
  };
  EXPECT_EQ(message("SLURM_PROCID", "4"), "SLURM_PROCID=4 is not entry 1 of SLURM_GTIDS, which is 5");
  EXPECT_EQ(message("SLURM_LOCALID", "2"), "SLURM_LOCALID=2 is outside SLURM_GTIDS, which lists 2 ranks");
  EXPECT_EQ(message("SLURM_GTIDS", "5,9"), "SLURM_GTIDS has rank 9, outside SLURM_STEP_NUM_TASKS=8");
}

TEST(LeakedStep, IsRecognisedByTheProcessAbove) {
  const auto above = [](std::string step) {
    return Fixture("srun-block/5").AsProcess({.pid = 1, .parent = 2, .slurm_step = std::move(step)});
  };
  EXPECT_TRUE(std::holds_alternative<Candidate>(Probe("slurm", above("2.0"))));
  EXPECT_TRUE(std::holds_alternative<Candidate>(Probe("slurm", above(""))));
  for (const char* other : {"2.batch", "2.1", "3.0", "2.extern", "2.interactive"}) {
    const auto probed = As<Absent>(Probe("slurm", above(other)), other);
    EXPECT_TRUE(probed.leaked);
    EXPECT_EQ(probed.reason,
              "the step variables are left over from another step: the slurmstepd above this process runs " +
                  std::string(other) + ", not 2.0");
  }
}

TEST(LeakedStep, MayBeOfAnyComponentOfAHeterogeneousJob) {
  const Environment task = Fixture("hetjob-both/3").AsProcess({.pid = 1, .parent = 2, .slurm_step = "17.0"});
  EXPECT_TRUE(std::holds_alternative<Candidate>(Probe("slurm", task)));
}

TEST(TorchEnv, TakesPortZeroInAWorldOfOne) {
  const auto probed = As<Candidate>(
      Probe("torch-env", Env("RANK=0\nWORLD_SIZE=1\nLOCAL_RANK=0\nMASTER_ADDR=127.0.0.1\nMASTER_PORT=0")));
  EXPECT_EQ(probed.tuple.world_size, 1);
  EXPECT_EQ(probed.tuple.master, std::nullopt);
}

TEST(Slurm, SaysWhereEachFieldComesFrom) {
  const auto candidate = As<Candidate>(Probe("slurm", Fixture("srun-block/5")));
  const RankTuple expected{.launcher = "slurm",
                           .rank = 5,
                           .world_size = 8,
                           .local_rank = 1,
                           .local_world_size = 2,
                           .node_rank = 2,
                           .num_nodes = 4,
                           .node = "gpu03",
                           .job = {.key = "slurm:2.0:0", .id = "2", .step = "0", .restart = 0},
                           .master = std::nullopt};
  EXPECT_EQ(candidate.tuple, expected);
  const std::vector<FieldSource> sources = {{"rank", "SLURM_PROCID", ""},
                                            {"world_size", "SLURM_STEP_NUM_TASKS", ""},
                                            {"local_rank", "SLURM_LOCALID", ""},
                                            {"node_rank", "SLURM_NODEID", ""},
                                            {"num_nodes", "SLURM_STEP_NUM_NODES", ""},
                                            {"local_world_size", "SLURM_GTIDS (count)", ""},
                                            {"node", "SLURMD_NODENAME", ""},
                                            {"job.id", "SLURM_JOB_ID", ""},
                                            {"job.step", "SLURM_STEP_ID", ""}};
  EXPECT_EQ(candidate.sources, sources);
}

TEST(Slurm, ListsWhatWasStripped) {
  const auto probed =
      As<Incomplete>(Probe("slurm", Changed(Fixture("srun-block/5"), {{"SLURM_STEP_NODELIST", std::nullopt},
                                                                      {"SLURM_STEP_NUM_TASKS", std::nullopt},
                                                                      {"SLURM_LOCALID", std::nullopt}})));
  EXPECT_EQ(
      probed.error.message,
      "this is probably a task of a Slurm step, with a part of its variables removed: missing SLURM_LOCALID, "
      "SLURM_STEP_NODELIST, SLURM_STEP_NUM_TASKS");
}

TEST(Slurm, IsCheckedEvenWhereItIsForced) {
  const Environment stripped = Changed(Fixture("srun-block/5"), {{"SLURM_STEP_NODELIST", std::nullopt}});
  EXPECT_TRUE(std::holds_alternative<Candidate>(Probe("slurm", stripped, {.forced = true})));
  const auto probed =
      As<Malformed>(Probe("slurm", Changed(stripped, {{"SLURM_PROCID", "4"}}), {.forced = true}));
  EXPECT_EQ(probed.error.message, "SLURM_PROCID=4 is not entry 1 of SLURM_GTIDS, which is 5");
}

TEST(Slurm, TakesOldNames) {
  const auto probed = As<Candidate>(Probe(
      "slurm",
      Changed(Fixture("srun-block/5"), {{"SLURM_JOB_ID", std::nullopt}, {"SLURM_STEP_ID", std::nullopt}})));
  EXPECT_EQ(probed.tuple.job.key, "slurm:2.0:0");
}

TEST(Slurm, CountsRestarts) {
  const auto probed =
      As<Candidate>(Probe("slurm", Changed(Fixture("srun-block/5"), {{"SLURM_RESTART_COUNT", "3"}})));
  EXPECT_EQ(probed.tuple.job.key, "slurm:2.0:3");
}

TEST(Slurm, IsNotFooledBySpecialSteps) {
  for (const char* step : {"4294967290", "4294967291", "4294967292", "4294967293", "4294967280", "-6"}) {
    As<Absent>(
        Probe("slurm", Changed(Fixture("srun-block/5"), {{"SLURM_STEP_ID", step}, {"SLURM_STEPID", step}})),
        step);
  }
}

TEST(Slurm, WarnsOfTheJobsSize) {
  const auto probed =
      As<Candidate>(Probe("slurm", Changed(Fixture("srun-block/5"), {{"SLURM_NTASKS", "16"}})));
  EXPECT_EQ(probed.tuple.world_size, 8);
  ASSERT_EQ(probed.warnings.size(), 1u);
  EXPECT_EQ(probed.warnings[0],
            "SLURM_NTASKS=16 is not this step's size, SLURM_STEP_NUM_TASKS=8, which is used (srun "
            "--preserve-env?)");
}

TEST(Muster, IsALeakWhereItsControlIsDead) {
  const std::string text =
      std::string(kGroup) + "MUSTER_RANK=1\nMUSTER_WORLD_SIZE=2\nMUSTER_CONTROL=@muster-x\n";
  std::string asked;
  const ProbeContext dead{.control_alive = [&](const std::string& control) {
    asked = control;
    return false;
  }};
  EXPECT_TRUE(std::holds_alternative<Candidate>(Probe("muster", Env(text), dead)));
  EXPECT_EQ(asked, "");
  const auto probed = As<Absent>(Probe("muster", Env(text).AsProcess({.pid = 1}), dead));
  EXPECT_TRUE(probed.leaked);
  EXPECT_EQ(asked, "@muster-x");
}

TEST(Pmi, IsALeakInAnotherJobOrStep) {
  const Environment task = Fixture("srun-pmi2/4");
  EXPECT_TRUE(std::holds_alternative<Candidate>(Probe("pmi", task)));
  for (const char* job : {"8.0", "7.1"}) {
    const auto probed = As<Absent>(Probe("pmi", Changed(task, {{"PMI_JOBID", job}})), job);
    EXPECT_TRUE(probed.leaked);
  }
}

TEST(Pmix, IsALeakInAnotherJobOrStep) {
  const Environment task = Fixture("srun-pmix/4");
  EXPECT_TRUE(std::holds_alternative<Incomplete>(Probe("pmix", task)));
  for (const char* space : {"slurm.pmix.5.0", "slurm.pmix.6.1"}) {
    const auto probed = As<Absent>(Probe("pmix", Changed(task, {{"PMIX_NAMESPACE", space}})), space);
    EXPECT_TRUE(probed.leaked);
  }
}

constexpr const char* kPmixRank =
    "PMIX_RANK=5\nPMIX_NAMESPACE=prterun-gpu01-77@1\nPMIX_HOSTNAME=gpu03\n"
    "PMIX_SERVER_URI41=prterun-gpu01-77@0.2;tcp4://127.0.0.1:37267\n";

ProbeContext SaidByPmix(const PmixPlace& place) {
  ProbeContext context;
  context.pmix = place;
  return context;
}

TEST(Pmix, TakesTheWordOfItsServer) {
  const auto candidate = As<Candidate>(Probe("pmix", Env(kPmixRank), SaidByPmix({7, {}, "4,5", 2, 3})));
  const RankTuple expected{.launcher = "pmix",
                           .rank = 5,
                           .world_size = 7,
                           .local_rank = 1,
                           .local_world_size = 2,
                           .node_rank = std::nullopt,
                           .num_nodes = 3,
                           .node = "gpu03",
                           .job = {.key = "pmix:prterun-gpu01-77@1:0", .id = "prterun-gpu01-77@1"},
                           .master = std::nullopt};
  EXPECT_EQ(candidate.tuple, expected);
  EXPECT_EQ(candidate.sources, (std::vector<FieldSource>{
                                   {"rank", "PMIX_RANK", ""},
                                   {"world_size", "the PMIx server's PMIX_JOB_SIZE", ""},
                                   {"local_rank", "the PMIx server's PMIX_LOCAL_PEERS", ""},
                                   {"local_world_size", "the PMIx server's PMIX_LOCAL_SIZE", ""},
                                   {"num_nodes", "the PMIx server's PMIX_NUM_NODES", ""},
                                   {"node", "PMIX_HOSTNAME", ""},
                                   {"job.id", "PMIX_NAMESPACE", ""},
                               }));
}

// Slurm's server forgets the number itself as soon as a process of the node has left it.
TEST(Pmix, TakesItsLocalRankFromTheListOfItsNode) {
  const auto local_rank = [](std::optional<uint32_t> said, std::optional<std::string> peers) {
    const Probed probed = Probe("pmix", Env(kPmixRank), SaidByPmix({7, said, std::move(peers), {}, {}}));
    return std::get<Candidate>(probed).tuple.local_rank;
  };
  EXPECT_EQ(local_rank({}, "1,3,5"), 2);
  EXPECT_EQ(local_rank(1, "1,3,5"), 2);
  EXPECT_EQ(local_rank(1, std::nullopt), 1);
  for (const char* none : {"", "1,2", "1,,5", "1-5", "x"}) {
    EXPECT_EQ(local_rank(1, none), 1) << none;
    EXPECT_EQ(local_rank({}, none), std::nullopt) << none;
  }
}

TEST(Pmix, DoesNotBelieveAServerThatContradictsItself) {
  const auto message = [](const PmixPlace& place) {
    const Probed probed = Probe("pmix", Env(kPmixRank), SaidByPmix(place));
    return std::holds_alternative<Malformed>(probed) ? std::get<Malformed>(probed).error.message : "";
  };
  EXPECT_EQ(message({5, {}, {}, {}, {}}), "PMIX_RANK=5 is outside the PMIx server's PMIX_JOB_SIZE=5");
  EXPECT_EQ(message({0, {}, {}, {}, {}}), "the PMIx server's PMIX_JOB_SIZE=0: there is at least one");
  EXPECT_EQ(message({4294967295, {}, {}, {}, {}}),
            "the PMIx server's PMIX_JOB_SIZE=4294967295 is more than 2147483647");
  EXPECT_EQ(message({7, {}, "3,4,5", 2, {}}),
            "the PMIx server's PMIX_LOCAL_PEERS=2 is outside the PMIx server's PMIX_LOCAL_SIZE=2");
}

TEST(Pmix, AsksForItsServerWhereThereIsOne) {
  const auto may_know = [](const Environment& environment, const ProbeContext& context = {}) {
    const Probed probed = Probe("pmix", environment, context);
    return std::holds_alternative<Incomplete>(probed) && std::get<Incomplete>(probed).pmix_may_know;
  };
  EXPECT_TRUE(may_know(Env(kPmixRank)));
  EXPECT_FALSE(may_know(Changed(Env(kPmixRank), {{"PMIX_SERVER_URI41", std::nullopt}})));
  EXPECT_FALSE(may_know(Changed(Env(kPmixRank), {{"PMIX_NAMESPACE", std::nullopt}})));
  EXPECT_FALSE(may_know(Env(kPmixRank), SaidByPmix({})));
  EXPECT_EQ(std::get<Incomplete>(Probe("pmix", Env(kPmixRank), SaidByPmix({}))).error.message,
            "PMIX_RANK=5 is a rank (PMIX_NAMESPACE=prterun-gpu01-77@1), but the size of its world is "
            "unknown, also to its PMIx server");
}

// salloc's shell, where MpiDefault is pmix: its server reports a world of one.
TEST(Pmix, IsNoRankInAnInteractiveStep) {
  for (const char* space : {"slurm.pmix.6.4294967290", "slurm.pmix.6.-6"}) {
    const auto probed = As<Absent>(
        Probe("pmix", Changed(Env(kPmixRank), {{"PMIX_NAMESPACE", space}}), SaidByPmix({1, 0, "0", 1, 1})),
        space);
    EXPECT_EQ(probed.reason, fmt::format("PMIX_NAMESPACE={} is a special step, not one of tasks", space));
  }
}

TEST(Hydra, DoesNotTakeLoopbackForANode) {
  const Environment rank =
      Changed(Fixture("mpirun-mpich-alone/2"), {{"MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "127.0.0.1"}});
  const auto probed = As<Candidate>(Probe("hydra", rank));
  EXPECT_EQ(probed.tuple.node, std::nullopt);
}

TEST(Openmpi, OfRelease5IsNamedByItsNamespace) {
  const auto probed = As<Candidate>(Probe(
      "openmpi", Env("OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_LOCAL_RANK=1\n"
                     "OMPI_COMM_WORLD_LOCAL_SIZE=2\nPMIX_NAMESPACE=prterun-gpu01-77@1\nPMIX_RANK=1\n")));
  EXPECT_EQ(probed.tuple.job.key, "openmpi:prterun-gpu01-77@1:0");
  EXPECT_EQ(probed.tuple.num_nodes, std::nullopt);
}

TEST(Ray, IsNotTakenForWhatItsWorkersStart) {
  const std::string worker =
      "RAY_JOB_ID=01\nRANK=3\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nNODE_RANK=1\nMASTER_ADDR=n1\n"
      "MASTER_PORT=4000\n";
  const auto probed = As<Candidate>(Probe("ray", Env(worker)));
  EXPECT_EQ(probed.tuple.job.key, "ray:01:0");
  EXPECT_EQ(probed.tuple.master, (Endpoint{"n1", 4000}));
  EXPECT_TRUE(std::holds_alternative<Absent>(Probe("ray", Env(worker + "TORCHELASTIC_RUN_ID=r\n"))));
  EXPECT_TRUE(std::holds_alternative<Absent>(Probe("ray", Env(worker + "GROUP_RANK=0\n"))));
  EXPECT_TRUE(std::holds_alternative<Absent>(Probe("ray", Env("RAY_JOB_ID=01\nRANK=3\nWORLD_SIZE=4\n"))));
}

TEST(TorchEnv, TakesNodeRankOnlyNextToALocalWorldSize) {
  const auto node_rank = [](std::string_view text) {
    const Probed probed = Probe("torch-env", Env(text));
    return std::get<Candidate>(probed).tuple.node_rank;
  };
  EXPECT_EQ(node_rank("RANK=2\nWORLD_SIZE=4\nLOCAL_RANK=0\nNODE_RANK=1"), std::nullopt);
  EXPECT_EQ(node_rank("RANK=2\nWORLD_SIZE=4\nLOCAL_RANK=0\nLOCAL_WORLD_SIZE=2\nNODE_RANK=1"), 1);
}

}  // namespace
}  // namespace muster::resolve
