// The winners of nested launches, and the refusals, by table.
#include "bootstrap/resolve/containment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/resolve/detect.h"
#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::resolve {
namespace {

struct NestCase {
  const char* what;
  std::string environment;
  const char* launcher;
  int rank;
  int world_size;
  std::vector<std::pair<const char*, const char*>> verdicts;
};

class NestedTest : public testing::TestWithParam<NestCase> {};

TEST_P(NestedTest, InnermostWins) {
  const NestCase& c = GetParam();
  const auto resolution = MustResolve(Env(c.environment));
  EXPECT_EQ(resolution.tuple.launcher, c.launcher) << c.what;
  EXPECT_EQ(resolution.tuple.rank, c.rank) << c.what;
  EXPECT_EQ(resolution.tuple.world_size, c.world_size) << c.what;
  for (const auto& [launcher, verdict] : c.verdicts) {
    EXPECT_EQ(VerdictOn(launcher, resolution.considered), verdict) << c.what;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, NestedTest,
    testing::Values(
        NestCase{"sbatch, mpirun on one node",
                 BatchScript() + Openmpi(2, 4, 2, 4),
                 "openmpi",
                 2,
                 4,
                 {{"slurm", "absent"}}},
        NestCase{"mpirun, its daemons one srun task a node, uneven",
                 OneTaskANode(3, 2) + Openmpi(5, 6, 0, 1),
                 "openmpi",
                 5,
                 6,
                 {{"slurm", "carrier"}, {"pmix", "incomplete"}}},
        NestCase{"mpirun of as many ranks as daemons, other order",
                 OneTaskANode(3, 2) + Openmpi(1, 3, 0, 1),
                 "openmpi",
                 1,
                 3,
                 {{"slurm", "carrier"}}},
        NestCase{"mpirun of as many ranks as daemons, equal numbers",
                 OneTaskANode(3, 0) + Openmpi(0, 3, 0, 3),
                 "openmpi",
                 0,
                 3,
                 {{"slurm", "carrier"}}},
        NestCase{"mpiexec lays the batch script's SLURM_PROCID over its proxies'",
                 OneTaskANode(3, 0) + Hydra(4, 6, 0, 2),
                 "hydra",
                 4,
                 6,
                 {{"slurm", "carrier"}, {"pmi", "absent"}}},
        NestCase{"mpiexec, where the proxy's own SLURM_PROCID stayed",
                 std::string(OneTaskANode(3, 2)).replace(OneTaskANode(3, 2).find("GTIDS=2"), 7, "GTIDS=0") +
                     Hydra(4, 6, 0, 2),
                 "hydra",
                 4,
                 6,
                 {{"slurm", "incomplete"}}},
        NestCase{"srun -n1 mpirun",
                 OneTaskANode(1, 0) + Openmpi(3, 4, 3, 4),
                 "openmpi",
                 3,
                 4,
                 {{"slurm", "carrier"}}},
        NestCase{"srun, torchrun, uneven, nodes as they arrived",
                 OneTaskANode(2, 0) + Torchrun(4, 5, 1, 2, 1, 2),
                 "torchrun",
                 4,
                 5,
                 {{"slurm", "carrier"}, {"torch-env", "absent"}}},
        NestCase{"srun, torchrun with one worker a node, nodes as they arrived",
                 OneTaskANode(2, 0) + Torchrun(1, 2, 0, 1, 1, 2),
                 "torchrun",
                 1,
                 2,
                 {{"slurm", "carrier"}}},
        NestCase{"the same, in order",
                 OneTaskANode(2, 1) + Torchrun(1, 2, 0, 1, 1, 2),
                 "torchrun",
                 1,
                 2,
                 {{"slurm", "same"}}},
        NestCase{"srun --mpi=pmi2, torchrun",
                 OneTaskANode(2, 1) + "PMI_RANK=1\nPMI_SIZE=2\nPMI_JOBID=9.1\n" + Torchrun(5, 6, 2, 3, 1, 2),
                 "torchrun",
                 5,
                 6,
                 {{"slurm", "carrier"}, {"pmi", "carrier"}}},
        NestCase{
            "srun --mpi=pmix, torchrun",
            OneTaskANode(2, 1) + "PMIX_RANK=1\nPMIX_NAMESPACE=slurm.pmix.9.1\n" + Torchrun(5, 6, 2, 3, 1, 2),
            "torchrun",
            5,
            6,
            {{"slurm", "carrier"}, {"pmix", "incomplete"}}},
        NestCase{"mpirun, torchrun on each of its ranks",
                 Openmpi(1, 2, 0, 1) + Torchrun(2, 4, 0, 2, 1, 2),
                 "torchrun",
                 2,
                 4,
                 {{"openmpi", "carrier"}}},
        NestCase{"srun, one task a node, mp.spawn",
                 OneTaskANode(2, 1) + Bare(3, 4, 1),
                 "torch-env",
                 3,
                 4,
                 {{"slurm", "carrier"}}},
        NestCase{"srun -n1, mp.spawn",
                 OneTaskANode(1, 0) + Bare(3, 4, 3),
                 "torch-env",
                 3,
                 4,
                 {{"slurm", "carrier"}}},
        NestCase{"srun with the copied RANK=$SLURM_PROCID",
                 OneTaskANode(2, 1) + Bare(1, 2, 0),
                 "slurm",
                 1,
                 2,
                 {{"torch-env", "same"}}},
        NestCase{"mpirun -n 1, torchrun",
                 Openmpi(0, 1, 0, 1) + Torchrun(3, 4, 3, 4, 0, 1),
                 "torchrun",
                 3,
                 4,
                 {{"openmpi", "carrier"}}},
        NestCase{"torchrun of one worker, mpirun",
                 Torchrun(0, 1, 0, 1, 0, 1) + Openmpi(3, 4, 3, 4),
                 "openmpi",
                 3,
                 4,
                 {{"torchrun", "carrier"}}},
        NestCase{"srun, muster run",
                 OneTaskANode(2, 1) + Muster(1, 2, 0, 1, 1, 2) + Bare(1, 2, 0),
                 "muster",
                 1,
                 2,
                 {{"slurm", "same"}, {"torch-env", "same"}}},
        NestCase{"mpirun, muster run",
                 Openmpi(2, 4, 0, 2) + Muster(2, 4, 0, 2, 1, 2) + Bare(2, 4, 0),
                 "muster",
                 2,
                 4,
                 {{"openmpi", "same"}}},
        NestCase{"srun -n1, muster launch",
                 OneTaskANode(1, 0) + Muster(3, 4, 3, 4, 0, 1) + Bare(3, 4, 3),
                 "muster",
                 3,
                 4,
                 {{"slurm", "carrier"}}},
        NestCase{"sbatch, muster launch",
                 BatchScript() + Muster(3, 4, 3, 4, 0, 1) + Bare(3, 4, 3),
                 "muster",
                 3,
                 4,
                 {{"slurm", "absent"}}},
        NestCase{"muster run on two nodes, torchrun on each",
                 Muster(1, 2, 0, 1, 1, 2) + Torchrun(5, 6, 2, 3, 1, 2),
                 "torchrun",
                 5,
                 6,
                 {{"muster", "carrier"}}},
        NestCase{"muster run of one, mpirun",
                 Muster(0, 1, 0, 1, 0, 1) + Openmpi(2, 4, 2, 4),
                 "openmpi",
                 2,
                 4,
                 {{"muster", "carrier"}}},
        NestCase{"srun inside a single shell with RANK=0 WORLD_SIZE=1",
                 OneTaskANode(2, 1) + Bare(0, 1, 0),
                 "slurm",
                 1,
                 2,
                 {{"torch-env", "carrier"}}},
        NestCase{"MASTER_ADDR exported in the batch script",
                 OneTaskANode(2, 1) + "MASTER_ADDR=n1\nMASTER_PORT=29500\n",
                 "slurm",
                 1,
                 2,
                 {{"torch-env", "absent"}}},
        NestCase{"WORLD_SIZE exported, and right",
                 OneTaskANode(2, 1) + "WORLD_SIZE=2\n",
                 "slurm",
                 1,
                 2,
                 {{"torch-env", "incomplete"}}},
        NestCase{"RANK and WORLD_SIZE without LOCAL_RANK, and right",
                 OneTaskANode(2, 1) + "RANK=1\nWORLD_SIZE=2\n",
                 "slurm",
                 1,
                 2,
                 {{"torch-env", "incomplete"}}},
        NestCase{"PMI left over from the step where sbatch was called",
                 OneTaskANode(2, 1) + "PMI_RANK=4\nPMI_SIZE=5\nPMI_JOBID=7.0\n",
                 "slurm",
                 1,
                 2,
                 {{"pmi", "leak"}}},
        NestCase{"the same of srun --mpi=cray_shasta",
                 OneTaskANode(2, 1) + "PALS_RANKID=4\nPALS_APID=7.0\nPMI_RANK=4\nPMI_SIZE=5\nPMI_JOBID=7\n",
                 "slurm",
                 1,
                 2,
                 {{"pals", "leak"}, {"pmi", "leak"}}},
        NestCase{"srun --mpi=pmi2 below a step of srun --mpi=cray_shasta",
                 OneTaskANode(2, 1) + "PALS_RANKID=4\nPALS_APID=9.0\nPMI_RANK=1\nPMI_SIZE=2\nPMI_JOBID=9.1\n",
                 "slurm",
                 1,
                 2,
                 {{"pals", "leak"}, {"pmi", "same"}}},
        NestCase{"nothing at all", "", "none", 0, 1, {{"slurm", "absent"}}},
        NestCase{"WORLD_SIZE=1 and nobody", "WORLD_SIZE=1\n", "none", 0, 1, {{"torch-env", "incomplete"}}},
        NestCase{"LOCAL_RANK alone", "LOCAL_RANK=3\n", "none", 0, 1, {{"torch-env", "absent"}}}));

struct RefuseCase {
  const char* what;
  std::string environment;
  Code code;
  const char* message;
};

class RefusedTest : public testing::TestWithParam<RefuseCase> {};

TEST_P(RefusedTest, SaysWhy) {
  const RefuseCase& c = GetParam();
  const Refusal refusal = MustRefuse(Env(c.environment));
  EXPECT_EQ(refusal.error.code, c.code) << c.what;
  EXPECT_EQ(refusal.error.message, c.message) << c.what;
  EXPECT_NE(refusal.error.hint, "") << c.what;
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedTest,
    testing::Values(
        RefuseCase{"a batch script", BatchScript(), Code::kNotLaunched,
                   "this is the batch script of Slurm job 9 (4 tasks on n[1-2]), not one of its tasks"},
        RefuseCase{"a batch script with WORLD_SIZE exported",
                   BatchScript() + "WORLD_SIZE=4\nMASTER_ADDR=n1\n", Code::kNotLaunched,
                   "this is the batch script of Slurm job 9 (4 tasks on n[1-2]), not one of its tasks"},
        RefuseCase{"ssh into a job", "SLURM_JOB_ID=9\n", Code::kNotLaunched,
                   "this is the salloc shell of Slurm job 9, not one of its tasks"},
        RefuseCase{"sbatch called inside a step",
                   BatchScript() + "SLURM_STEP_ID=3\nSLURM_STEP_NODELIST=r01\nSLURM_STEP_NUM_TASKS=2\n"
                                   "SLURM_STEP_NUM_NODES=1\nSLURM_STEP_TASKS_PER_NODE=2\n",
                   Code::kNotLaunched,
                   "this is the batch script of Slurm job 9 (4 tasks on n[1-2]), not one of its tasks"},
        RefuseCase{"the same, on the same node",
                   BatchScript() + "SLURM_STEP_ID=3\nSLURM_STEP_NODELIST=n1\nSLURM_STEP_NUM_TASKS=2\n"
                                   "SLURM_STEP_NUM_NODES=1\nSLURM_STEP_TASKS_PER_NODE=2\n",
                   Code::kNotLaunched,
                   "this is the batch script of Slurm job 9 (4 tasks on n[1-2]), not one of its tasks"},
        RefuseCase{"sbatch called inside a step of srun --mpi=cray_shasta",
                   BatchScript() + "PALS_RANKID=4\nPALS_APID=7.0\nPMI_RANK=4\nPMI_SIZE=5\nPMI_JOBID=7\n",
                   Code::kNotLaunched,
                   "this is the batch script of Slurm job 9 (4 tasks on n[1-2]), not one of its tasks"},
        RefuseCase{"RANK exported in the batch script", OneTaskANode(4, 2) + Bare(0, 4, 0),
                   Code::kBadEnvironment,
                   "slurm gives rank 2 of 4 (SLURM_PROCID=2, SLURM_STEP_NUM_TASKS=4), but torch-env gives "
                   "rank 0 of 4 (RANK=0, WORLD_SIZE=4), and neither started the other"},
        RefuseCase{"the same without LOCAL_RANK", OneTaskANode(4, 2) + "RANK=0\nWORLD_SIZE=4\n",
                   Code::kBadEnvironment,
                   "RANK=0, WORLD_SIZE=4 is set, but slurm gives rank 2 of 4 (SLURM_PROCID=2, "
                   "SLURM_STEP_NUM_TASKS=4)"},
        RefuseCase{"RANK alone", OneTaskANode(4, 2) + "RANK=0\n", Code::kBadEnvironment,
                   "RANK=0 is set but WORLD_SIZE is not: half a pair"},
        RefuseCase{
            "WORLD_SIZE exported, and wrong", OneTaskANode(4, 2) + "WORLD_SIZE=8\n", Code::kBadEnvironment,
            "WORLD_SIZE=8 is set, but slurm gives rank 2 of 4 (SLURM_PROCID=2, SLURM_STEP_NUM_TASKS=4)"},
        RefuseCase{"WORLD_SIZE and nobody", "WORLD_SIZE=4\n", Code::kBadEnvironment,
                   "WORLD_SIZE=4 is set but RANK is not: half a pair"},
        RefuseCase{"Kubeflow's RANK counts pods", "RANK=1\nWORLD_SIZE=4\nMASTER_ADDR=a\nMASTER_PORT=1\n",
                   Code::kBadEnvironment,
                   "RANK=1 and WORLD_SIZE=4 are set but LOCAL_RANK is not: they may count nodes"},
        RefuseCase{
            "a bare PMIx rank", "PMIX_RANK=0\nPMIX_NAMESPACE=prterun-n1-7@1\n", Code::kBadEnvironment,
            "PMIX_RANK=0 is a rank (PMIX_NAMESPACE=prterun-n1-7@1), but the size of its world is unknown"},
        RefuseCase{
            "a bare PMIx rank under its launcher's daemons",
            OneTaskANode(3, 0) + "PMIX_RANK=0\nPMIX_NAMESPACE=prterun-n1-7@1\n", Code::kBadEnvironment,
            "PMIX_RANK=0 is set, but slurm gives rank 0 of 3 (SLURM_PROCID=0, SLURM_STEP_NUM_TASKS=3)"},
        RefuseCase{
            "a torchrun worker that called srun", Torchrun(2, 6, 2, 6, 0, 1) + OneTaskANode(4, 1),
            Code::kBadEnvironment,
            "torchrun gives rank 2 of 6 (RANK=2, WORLD_SIZE=6), but slurm gives rank 1 of 4 (SLURM_PROCID=1, "
            "SLURM_STEP_NUM_TASKS=4), and neither started the other"},
        RefuseCase{"a rank outside its world, though another launcher is right",
                   OneTaskANode(2, 1) + Bare(7, 2, 0), Code::kBadEnvironment,
                   "RANK=7 is outside WORLD_SIZE=2"},
        RefuseCase{"mp.spawn with another k on this node", OneTaskANode(2, 0) + Bare(2, 4, 2),
                   Code::kBadEnvironment,
                   "slurm gives rank 0 of 2 (SLURM_PROCID=0, SLURM_STEP_NUM_TASKS=2), but torch-env gives "
                   "rank 2 of 4 (RANK=2, WORLD_SIZE=4), and neither started the other"}));

}  // namespace
}  // namespace muster::resolve
