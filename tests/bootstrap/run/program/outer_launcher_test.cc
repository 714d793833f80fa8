#include "bootstrap/run/program/outer_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "bootstrap/environment/outer_variables.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::run {
namespace {

using resolve::Bare;
using resolve::BatchScript;
using resolve::Muster;
using resolve::MustRefuse;
using resolve::MustResolve;
using resolve::OneTaskANode;
using resolve::Openmpi;
using resolve::Torchrun;
using resolve::VerdictOn;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Key;
using testing::Not;
using testing::Pair;
using Variables = std::map<std::string, std::string, std::less<>>;

// Nodes n1, n2, ...
Roster Blocks(int nodes, int ranks) {
  Roster roster;
  for (int node = 0; node < nodes; ++node) {
    roster.nodes.push_back({"n" + std::to_string(node + 1), {}});
    for (int local = 0; local < ranks; ++local) roster.members.push_back({node, local, 10 + local, {}});
  }
  return roster;
}

Environment Env(const std::string& text) {
  const auto environment = Environment::FromText(text);
  EXPECT_TRUE(environment) << ToString(environment.error());
  return environment.value_or(Environment::FromVariables({}));
}

Variables Parsed(const std::string& text) { return Env(text).All(); }

Variables Rewritten(const std::string& text, const Roster& roster, int rank) {
  Variables variables = Parsed(text);
  RewriteForRank(roster, rank, variables);
  return variables;
}

TEST(RewriteForRank, MakesATaskOfEachRank) {
  const Variables variables =
      Rewritten(OneTaskANode(3, 1) +
                    "SLURM_TASK_PID=77\nSLURM_NPROCS=3\n"
                    "SLURM_NTASKS_PER_NODE=1\nSLURM_NNODES=3\nSLURM_CPUS_PER_TASK=16\n",
                Blocks(3, 4), 6);
  EXPECT_THAT(variables,
              IsSupersetOf({Pair("SLURM_PROCID", "6"), Pair("SLURM_LOCALID", "2"), Pair("SLURM_NODEID", "1"),
                            Pair("SLURM_NTASKS", "12"), Pair("SLURM_NPROCS", "12"),
                            Pair("SLURM_STEP_NUM_TASKS", "12"), Pair("SLURM_NTASKS_PER_NODE", "4"),
                            Pair("SLURM_TASKS_PER_NODE", "4(x3)"), Pair("SLURM_STEP_TASKS_PER_NODE", "4(x3)"),
                            Pair("SLURM_GTIDS", "4,5,6,7"), Pair("SLURM_NNODES", "3"),
                            Pair("SLURM_STEP_NODELIST", "n[1-3]"), Pair("SLURM_CPUS_PER_TASK", "4"),
                            Pair("SLURM_JOB_ID", "9"), Pair("SLURM_STEP_ID", "1")}));
  EXPECT_THAT(variables, Not(Contains(Key("SLURM_TASK_PID"))));
}

TEST(RewriteForRank, KeepsWhatSlurmHadSaid) {
  const Variables variables =
      Rewritten(OneTaskANode(3, 1) + "SLURM_TASK_PID=77\nPMI_RANK=1\nPMI_SIZE=3\n", Blocks(3, 4), 6);
  EXPECT_THAT(variables,
              IsSupersetOf({Pair("MUSTER_OUTER_SLURM_PROCID", "1"), Pair("MUSTER_OUTER_SLURM_NTASKS", "3"),
                            Pair("MUSTER_OUTER_SLURM_GTIDS", "1"), Pair("MUSTER_OUTER_SLURM_TASK_PID", "77"),
                            Pair("MUSTER_OUTER_SLURM_JOB_ID", "9")}));
  EXPECT_THAT(variables, Not(Contains(Key("MUSTER_OUTER_PMI_RANK"))));
}

// A supervisor below another one: Slurm's own words are further out than both.
TEST(RewriteForRank, KeepsThemBelowAnotherSupervisor) {
  Variables variables = Rewritten(OneTaskANode(3, 1) + "SLURM_TASK_PID=77\n", Blocks(3, 4), 6);
  RewriteForRank(Blocks(1, 2), 1, variables);
  EXPECT_THAT(variables, IsSupersetOf({Pair("MUSTER_OUTER_SLURM_PROCID", "1"), Pair("SLURM_PROCID", "1"),
                                       Pair("SLURM_NTASKS", "2"), Pair("SLURM_STEP_NODELIST", "n1"),
                                       Pair("MUSTER_OUTER_SLURM_STEP_NODELIST", "n[1-3]")}));
}

// The variables of an srun in between are newer than the kept ones.
TEST(RewriteForRank, ForgetsThemBelowAnotherStep) {
  Variables variables =
      Rewritten(OneTaskANode(3, 1) + "SLURM_TASK_PID=77\nSLURM_NPROCS=3\n", Blocks(3, 4), 6);
  for (const auto& [name, value] : Parsed(OneTaskANode(2, 0) + "SLURM_TASK_PID=99\n"))
    variables[name] = value;
  variables["SLURM_STEP_ID"] = "2";
  variables.erase("SLURM_NPROCS");
  RewriteForRank(Blocks(2, 2), 3, variables);
  EXPECT_THAT(variables, IsSupersetOf({Pair("MUSTER_OUTER_SLURM_PROCID", "0"), Pair("SLURM_PROCID", "3"),
                                       Pair("MUSTER_OUTER_SLURM_STEP_ID", "2")}));
  EXPECT_THAT(variables, Not(Contains(Key("MUSTER_OUTER_SLURM_NPROCS"))));
}

// `srun -N2 --ntasks-per-node=1 muster launch -n 2`: a group of its own on each node. MPICH's mpirun divided by zero if
// SLURM_TASKS_PER_NODE had fewer nodes than SLURM_JOB_NODELIST.
TEST(RewriteForRank, NamesTheNodesOfTheGroup) {
  Roster second = Blocks(1, 2);
  second.nodes.own()[0].name = "n2";
  const Variables variables = Rewritten(OneTaskANode(2, 1) + "SLURM_NNODES=2\n", second, 1);
  EXPECT_THAT(
      variables,
      IsSupersetOf({Pair("SLURM_NODEID", "0"), Pair("SLURM_NNODES", "1"), Pair("SLURM_STEP_NUM_NODES", "1"),
                    Pair("SLURM_STEP_NODELIST", "n2"), Pair("SLURM_STEP_TASKS_PER_NODE", "2"),
                    Pair("SLURM_TASKS_PER_NODE", "1(x2)"), Pair("SLURM_JOB_NUM_NODES", "2")}));
}

// As Slurm has it, from the size of each node. A look-up for each node would take minutes here.
TEST(RewriteForRank, CountsTheRanksOfManyUnevenNodes) {
  Roster roster;
  std::string expected;
  for (int node = 0; node < 20000; ++node) {
    roster.nodes.push_back({"n" + std::to_string(node), {}});
    const int size = node < 100 ? 8 : node % 3 + 1;
    for (int local = 0; local < size; ++local) roster.members.push_back({node, local, 10 + local, {}});
    if (node == 99) expected = "8(x100)";
    if (node >= 100) expected += "," + std::to_string(size);
  }
  EXPECT_THAT(Rewritten("SLURM_JOB_ID=9\nSLURM_STEP_ID=0\nSLURM_STEP_NUM_NODES=20000\nSLURM_STEP_TASKS_PER_"
                        "NODE=1(x20000)\n",
                        roster, 6),
              Contains(Pair("SLURM_STEP_TASKS_PER_NODE", expected)));
}

// `muster launch` in a batch script or a salloc shell. SLURM_TASKS_PER_NODE goes with SLURM_JOB_NODELIST, from
// which an mpirun below takes its slots.
TEST(RewriteForRank, MakesTasksOfAnAllocation) {
  Variables variables = Rewritten(BatchScript(), Blocks(1, 3), 2);
  EXPECT_THAT(variables,
              IsSupersetOf({Pair("SLURM_PROCID", "2"), Pair("SLURM_LOCALID", "2"), Pair("SLURM_NTASKS", "3"),
                            Pair("SLURM_TASKS_PER_NODE", "2(x2)"), Pair("SLURM_JOB_NUM_NODES", "2")}));
  EXPECT_THAT(variables, Not(Contains(Key("SLURM_STEP_NUM_TASKS"))));
  variables = Rewritten("SLURM_JOB_ID=9\nSLURM_JOB_NUM_NODES=1\n", Blocks(1, 3), 1);
  EXPECT_THAT(variables, IsSupersetOf({Pair("SLURM_PROCID", "1"), Pair("SLURM_NODEID", "0"),
                                       Pair("SLURM_GTIDS", "0,1,2"), Pair("SLURM_NTASKS_PER_NODE", "3")}));
}

TEST(RewriteForRank, MakesNoTasksWhereThereIsNoSlurm) {
  EXPECT_THAT(Rewritten("PATH=/bin\n", Blocks(1, 2), 1), ElementsAre(Pair("PATH", "/bin")));
}

TEST(RewriteForRank, DividesTheCpusOrSaysNothingOfThem) {
  const std::string job = "SLURM_JOB_ID=9\nSLURM_CPUS_PER_TASK=";
  EXPECT_THAT(Rewritten(job + "7\n", Blocks(1, 3), 0), Contains(Pair("SLURM_CPUS_PER_TASK", "2")));
  EXPECT_THAT(Rewritten(job + "2\n", Blocks(1, 3), 0), Not(Contains(Key("SLURM_CPUS_PER_TASK"))));
  EXPECT_THAT(Rewritten(job + "x\n", Blocks(1, 3), 0), Not(Contains(Key("SLURM_CPUS_PER_TASK"))));
}

TEST(RewriteForRank, ListsUnevenNodes) {
  Roster roster = Blocks(3, 2);
  roster.nodes.push_back({"n4", {}});
  roster.members.push_back({3, 0, 10, {}});
  EXPECT_THAT(Rewritten("SLURM_JOB_ID=9\nSLURM_TASKS_PER_NODE=1(x4)\nSLURM_NNODES=4\n", roster, 6),
              IsSupersetOf({Pair("SLURM_TASKS_PER_NODE", "2(x3),1"), Pair("SLURM_GTIDS", "6")}));
}

// Scripts choose a device by these; rank and size are those of a server with one process.
TEST(RewriteForRank, RewritesTheLocalRankOfMpiLaunchers) {
  const Variables variables = Rewritten(
      Openmpi(1, 3, 0, 1) + "MPI_LOCALRANKID=0\nMPI_LOCALNRANKS=1\nPALS_LOCAL_RANKID=0\n", Blocks(3, 4), 6);
  EXPECT_THAT(variables, IsSupersetOf({Pair("OMPI_COMM_WORLD_LOCAL_RANK", "2"),
                                       Pair("OMPI_COMM_WORLD_LOCAL_SIZE", "4"), Pair("MPI_LOCALRANKID", "2"),
                                       Pair("MPI_LOCALNRANKS", "4"), Pair("PALS_LOCAL_RANKID", "2"),
                                       Pair("MUSTER_OUTER_OMPI_COMM_WORLD_LOCAL_RANK", "0")}));
  EXPECT_THAT(variables, Not(Contains(Key("OMPI_COMM_WORLD_RANK"))));
}

// ---- what muster below makes of it

std::string Text(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) text += std::string(name).append("=").append(value) + "\n";
  return text;
}

std::string ProgramOfRank6() {
  return Text(Rewritten(OneTaskANode(3, 1) + "SLURM_TASK_PID=77\n", Blocks(3, 4), 6));
}

TEST(Rewritten, IsNoLauncher) {
  const resolve::Resolution resolution =
      MustResolve(Env(ProgramOfRank6() + Muster(6, 12, 2, 4, 1, 3) + Bare(6, 12, 2)));
  EXPECT_EQ(resolution.tuple.launcher, "muster");
  EXPECT_EQ(resolution.tuple.rank, 6);
  EXPECT_EQ(VerdictOn("slurm", resolution.considered), "incomplete");
  EXPECT_THAT(resolution.warnings, IsEmpty());
}

// torchrun inside that program, with a world of its own.
TEST(Rewritten, ContradictsNoLauncherFurtherInside) {
  const resolve::Resolution resolution = MustResolve(Env(ProgramOfRank6() + Torchrun(1, 2, 1, 2, 0, 1)));
  EXPECT_EQ(resolution.tuple.launcher, "torchrun");
}

TEST(Rewritten, IsNoRankWhenItsSupervisorIsGone) {
  const resolve::Refusal refusal = MustRefuse(Env(ProgramOfRank6()));
  EXPECT_EQ(refusal.error.code, Code::kBadEnvironment);
  EXPECT_EQ(refusal.error.message,
            "SLURM_PROCID=6 and the like are those of a muster run that starts several ranks on a node; "
            "Slurm's own rank: 1");
}

// srun further inside sets all of it again.
TEST(Rewritten, IsSlurmsAgainInAnotherStep) {
  Variables variables = Parsed(ProgramOfRank6());
  for (const auto& [name, value] : Parsed(OneTaskANode(2, 1) + "SLURM_TASK_PID=99\n"))
    variables[name] = value;
  EXPECT_FALSE(SlurmIsRewritten(variables));
  variables.erase("SLURM_TASK_PID");  // a container has taken it away
  variables["SLURM_STEP_ID"] = "2";
  EXPECT_FALSE(SlurmIsRewritten(variables));
  EXPECT_EQ(MustResolve(Env(Text(variables))).tuple.world_size, 2);
}

// ---- the table: a line added or lost is a change of what programs see

// As srun --mpi=pmix, Open MPI, Hydra, torchrun and the others set them, with variables that have nothing to
// do with ranks.
const std::vector<std::string> kRemoved = {"CROSS_RANK",
                                           "CROSS_SIZE",
                                           "FLUX_JOB_SIZE",
                                           "FLUX_TASK_RANK",
                                           "HOROVOD_CROSS_RANK",
                                           "HOROVOD_GLOO_RENDEZVOUS_ADDR",
                                           "HOROVOD_RANK",
                                           "HOROVOD_SIZE",
                                           "HYDI_CONTROL_FD",
                                           "JSM_NAMESPACE_RANK",
                                           "LOCAL_SIZE",
                                           "MV2_COMM_WORLD_RANK",
                                           "OMPI_COMM_WORLD_RANK",
                                           "OMPI_COMM_WORLD_SIZE",
                                           "OMPI_FILE_LOCATION",
                                           "OMPI_FIRST_RANKS",
                                           "OMPI_MCA_ess",
                                           "OMPI_MCA_ess_base_jobid",
                                           "OMPI_MCA_orte_hnp_uri",
                                           "OMPI_MCA_pmix",
                                           "OMPI_UNIVERSE_SIZE",
                                           "PALS_RANKID",
                                           "PMIX_DSTORE_ESH_BASE_PATH",
                                           "PMIX_ID",
                                           "PMIX_NAMESPACE",
                                           "PMIX_RANK",
                                           "PMIX_SERVER_TMPDIR",
                                           "PMIX_SERVER_URI41",
                                           "PMI_FD",
                                           "PMI_JOBID",
                                           "PMI_PORT",
                                           "PMI_RANK",
                                           "PMI_SIZE",
                                           "PRTE_LAUNCHED",
                                           "ROLE_NAME",
                                           "ROLE_RANK",
                                           "ROLE_WORLD_SIZE",
                                           "SLURM_CPUS_PER_TASK",
                                           "SLURM_GPUS_PER_TASK",
                                           "SLURM_MPI_TYPE",
                                           "SLURM_PMIXP_ABORT_AGENT_PORT",
                                           "SLURM_PMIX_MAPPING_SERV",
                                           "SLURM_TASK_PID",
                                           "SLURM_TRES_PER_TASK",
                                           "TORCHELASTIC_ERROR_FILE",
                                           "TORCHELASTIC_RESTART_COUNT",
                                           "TORCHELASTIC_RUN_ID"};
const std::vector<std::string> kRewritten = {"FLUX_TASK_LOCAL_ID",
                                             "JAX_NUM_PROCESSES",
                                             "JAX_PROCESS_ID",
                                             "MPI_LOCALNRANKS",
                                             "MPI_LOCALRANKID",
                                             "MV2_COMM_WORLD_LOCAL_RANK",
                                             "OMPI_COMM_WORLD_LOCAL_RANK",
                                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                                             "PALS_LOCAL_RANKID",
                                             "PALS_LOCAL_SIZE",
                                             "SLURM_GTIDS",
                                             "SLURM_LOCALID",
                                             "SLURM_NPROCS",
                                             "SLURM_NTASKS",
                                             "SLURM_NTASKS_PER_NODE",
                                             "SLURM_PROCID",
                                             "SLURM_STEP_NUM_TASKS",
                                             "SLURM_STEP_TASKS_PER_NODE",
                                             "SLURM_TASKS_PER_NODE",
                                             "SUBMITIT_LOCAL_GLOBALID",
                                             "SUBMITIT_LOCAL_LOCALID",
                                             "SUBMITIT_LOCAL_NTASKS"};
const std::vector<std::string> kKept = {"CUDA_VISIBLE_DEVICES",
                                        "FLUX_JOB_ID",
                                        "FLUX_JOB_NNODES",
                                        "MUSTER_CONFIG",
                                        "MUSTER_TIMEOUTS_COLLECTIVE",
                                        "NCCL_DEBUG",
                                        "OMPI_ALLOW_RUN_AS_ROOT",
                                        "OMPI_MCA_btl",
                                        "PALS_APID",
                                        "PET_NNODES",
                                        "PMIX_HOSTNAME",
                                        "PMIX_MCA_psec",
                                        "SLURMD_NODENAME",
                                        "SLURM_CPUS_ON_NODE",
                                        "SLURM_JOB_ID",
                                        "SLURM_JOB_NODELIST",
                                        "SLURM_JOB_NUM_NODES",
                                        "SLURM_NNODES",
                                        "SLURM_NODEID",
                                        "SLURM_STEP_GPUS",
                                        "SLURM_STEP_ID",
                                        "SLURM_STEP_NODELIST",
                                        "SLURM_STEP_NUM_NODES"};

TEST(OuterVariables, BecomeThis) {
  Variables before;
  for (const auto& names : {kRemoved, kRewritten, kKept}) {
    for (const std::string& name : names) before[name] = "1";
  }
  Variables after = before;
  RewriteForRank(Blocks(1, 8), 5, after);
  for (const std::string& name : kRemoved) EXPECT_FALSE(after.contains(name)) << name;
  for (const std::string& name : kRewritten) EXPECT_NE(after[name], "1") << name;
  for (const std::string& name : kKept) EXPECT_EQ(after[name], "1") << name;
}

TEST(OuterVariables, AreEachNamedOnce) {
  std::set<std::string_view> names;
  for (const OuterVariable& outer : OuterVariables())
    EXPECT_TRUE(names.insert(outer.name).second) << outer.name;
}

}  // namespace
}  // namespace muster::run
