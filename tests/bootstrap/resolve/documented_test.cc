// The launchers that were not run here, by the variables of their documentation or source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/join/meeting.h"
#include "bootstrap/resolve/detect.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::resolve {
namespace {

struct Variant {
  const char* what;
  std::string environment;
  const char* launcher;
  const char* tuple;
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.what; }

TEST(Documented, GivesItsTuple) {
  for (const Documented& one : AllDocumented()) {
    const RankTuple tuple = MustResolve(one.environment).tuple;
    EXPECT_EQ(tuple.launcher, one.launcher);
    EXPECT_EQ(TupleText(tuple), one.tuple) << one.launcher;
  }
}

// Beside what the files have.
class VariantTest : public testing::TestWithParam<Variant> {};

TEST_P(VariantTest, GivesItsTuple) {
  const RankTuple tuple = MustResolve(Env(GetParam().environment)).tuple;
  EXPECT_EQ(tuple.launcher, GetParam().launcher);
  EXPECT_EQ(TupleText(tuple), GetParam().tuple);
}

INSTANTIATE_TEST_SUITE_P(
    All, VariantTest,
    testing::Values(
        Variant{
            "Intel MPI",
            "PMI_RANK=3\nPMI_SIZE=4\nMPI_LOCALRANKID=1\nMPI_LOCALNRANKS=2\nI_MPI_HYDRA_UUID=a-b\nPMI_FD=9\n",
            "hydra", "rank=3 world_size=4 local_rank=1 local_world_size=2 job=hydra:a-b:0"},
        // Slots 3, 1, 2: the second local rank exists on two of the three nodes only.
        Variant{"horovodrun, second rank of an uneven node",
                "HOROVOD_RANK=5\nHOROVOD_SIZE=6\nHOROVOD_LOCAL_RANK=1\nHOROVOD_LOCAL_SIZE=2\n"
                "HOROVOD_CROSS_RANK=1\nHOROVOD_CROSS_SIZE=2\nHOROVOD_HOSTNAME=localhost\n"
                "HOROVOD_GLOO_RENDEZVOUS_ADDR=a\nHOROVOD_GLOO_RENDEZVOUS_PORT=1\n",
                "horovod", "rank=5 world_size=6 local_rank=1 local_world_size=2 job=horovod:a:1:0"},
        Variant{"AzureML's PyTorch distribution",
                "AZUREML_RUN_ID=run\nRANK=3\nWORLD_SIZE=4\nLOCAL_RANK=1\nNODE_RANK=1\nMASTER_ADDR=10.0.0.4\n"
                "MASTER_PORT=6105\n",
                "azureml",
                "rank=3 world_size=4 local_rank=1 node_rank=1 job=azureml:run:0 master=10.0.0.4:6105"},
        Variant{"AzureML's MPI distribution: Open MPI's tuple, and where to meet",
                "AZUREML_EXPERIMENT_ID=e\nAZ_BATCH_MASTER_NODE=10.0.0.4:6105\nOMPI_COMM_WORLD_RANK=3\n"
                "OMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_LOCAL_RANK=1\nOMPI_COMM_WORLD_LOCAL_SIZE=2\n",
                "openmpi",
                "rank=3 world_size=4 local_rank=1 local_world_size=2 job=openmpi:-:0 master=10.0.0.4:6105"},
        Variant{"torchrun in a pod of Kubeflow",
                "PET_NODE_RANK=1\nPET_NNODES=2\nPET_NPROC_PER_NODE=2\n" + Torchrun(3, 4, 1, 2, 1, 2),
                "torchrun",
                "rank=3 world_size=4 local_rank=1 local_world_size=2 node_rank=1 num_nodes=2 "
                "job=torchrun:r:0 master=n1:29500"},
        Variant{
            "mpirun on SageMaker",
            "SM_HOSTS=[\"algo-1\",\"algo-2\"]\nSM_CURRENT_HOST=algo-2\nSM_NUM_GPUS=2\n" + Openmpi(3, 4, 1, 2),
            "openmpi", "rank=3 world_size=4 local_rank=1 local_world_size=2 job=openmpi:77:0"}));

// Nodes are counted, not processes: no process's rank, whatever its numbers are.
struct NodeScope {
  const char* what;
  const char* environment;
  const char* message;
};

void PrintTo(const NodeScope& scope, std::ostream* out) { *out << scope.what; }

class NodeScopedTest : public testing::TestWithParam<NodeScope> {};

TEST_P(NodeScopedTest, NeverBecomesARank) {
  const Refusal refusal = MustRefuse(Env(GetParam().environment));
  EXPECT_EQ(refusal.error.code, Code::kBadEnvironment);
  EXPECT_EQ(refusal.error.message, GetParam().message);
  EXPECT_NE(refusal.error.hint, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, NodeScopedTest,
    testing::Values(
        NodeScope{"PyTorchJob v1",
                  "RANK=1\nWORLD_SIZE=4\nMASTER_ADDR=a\nMASTER_PORT=1\nPET_NODE_RANK=1\nPET_NNODES=2\n"
                  "PET_NPROC_PER_NODE=2\n",
                  "PET_NODE_RANK=1 of PET_NNODES=2 numbers pods: a node, not a process's rank"},
        NodeScope{"PyTorchJob v1, a process a pod",
                  "RANK=1\nWORLD_SIZE=2\nMASTER_ADDR=a\nMASTER_PORT=1\nPET_NODE_RANK=1\nPET_NNODES=2\n",
                  "PET_NODE_RANK=1 of PET_NNODES=2 numbers pods: a node, not a process's rank"},
        NodeScope{"an older PyTorchJob, PAI DLC", "RANK=1\nWORLD_SIZE=2\nMASTER_ADDR=a\nMASTER_PORT=23456\n",
                  "RANK=1 and WORLD_SIZE=2 are set but LOCAL_RANK is not: they may count nodes"},
        NodeScope{
            "TrainJob v2, which is an indexed Job, too",
            "PET_NODE_RANK=1\nPET_NNODES=2\nPET_NPROC_PER_NODE=2\nPET_MASTER_ADDR=a\nPET_MASTER_PORT=29400\n"
            "JOB_COMPLETION_INDEX=1\n",
            "PET_NODE_RANK=1 of PET_NNODES=2 numbers pods: a node, not a process's rank"},
        NodeScope{
            "SageMaker", "SM_HOSTS=[\"algo-1\",\"algo-2\"]\nSM_CURRENT_HOST=algo-2\nSM_NUM_GPUS=8\n",
            "SM_CURRENT_HOST=algo-2 of SM_HOSTS=[\"algo-1\",\"algo-2\"] names hosts: a node, not a process's "
            "rank"},
        NodeScope{"an indexed Job without a size", "JOB_COMPLETION_INDEX=3\n",
                  "JOB_COMPLETION_INDEX=3 is this pod's number, but the number of pods is unknown"},
        NodeScope{"blaunch", "LSF_PM_TASKID=1\nLSB_DJOB_NUMPROC=4\nLSB_JOBID=7\n",
                  "LSF_PM_TASKID=1 is a task of LSF's blaunch, but the number of tasks is unknown"},
        NodeScope{"PALS without PMI's size", "PALS_RANKID=3\nPALS_LOCAL_RANKID=1\n",
                  "PALS_RANKID=3 is a rank, but PMI_SIZE, the size of its world, is not set"}));

TEST(NodeScoped, OfOneIsAWorldOfOne) {
  for (const char* text : {"PET_NODE_RANK=0\nPET_NNODES=1\nPET_NPROC_PER_NODE=1\nRANK=0\nWORLD_SIZE=1\n",
                           "SM_HOSTS=[\"algo-1\"]\nSM_CURRENT_HOST=algo-1\nSM_NUM_GPUS=1\n"}) {
    EXPECT_EQ(MustResolve(Env(text)).tuple.launcher, "none") << text;
  }
}

// People export torchrun's inputs in batch scripts: there the missing srun is the news, and a task is a task.
TEST(NodeScoped, DoesNotDisturbSlurm) {
  const std::string inputs = "PET_NNODES=2\nPET_NPROC_PER_NODE=4\n";
  EXPECT_EQ(MustRefuse(Env(BatchScript() + inputs)).error.code, Code::kNotLaunched);
  EXPECT_EQ(MustResolve(Env(OneTaskANode(2, 1) + inputs)).tuple.launcher, "slurm");
}

TEST(Horovod, WithoutItsRendezvousIsALeak) {
  const Probed probed = FindLauncher("horovod")->Probe(Env("HOROVOD_RANK=1\nHOROVOD_SIZE=2\n"), {});
  ASSERT_TRUE(std::holds_alternative<Absent>(probed));
  EXPECT_TRUE(std::get<Absent>(probed).leaked);
}

TEST(Composer, IsNotTakenForWhatElseSetsItsFive) {
  const std::string five =
      "RANK=3\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nNODE_RANK=1\nMASTER_ADDR=n1\n"
      "MASTER_PORT=29500\n";
  const std::string mark = "PYTHONUNBUFFERED=1\nTORCH_NCCL_ASYNC_ERROR_HANDLING=1\n";
  EXPECT_EQ(MustResolve(Env(five)).tuple.launcher, "torch-env");
  EXPECT_EQ(MustResolve(Env(five), {.launcher = "composer"}).tuple.launcher, "composer");
  EXPECT_EQ(MustResolve(Env(five + mark)).tuple.launcher, "composer");
  EXPECT_EQ(MustResolve(Env(five + mark + "GROUP_RANK=1\nGROUP_WORLD_SIZE=2\n")).tuple.launcher, "torch-env");
  EXPECT_EQ(MustResolve(Env(five + mark + "TORCHELASTIC_RUN_ID=r\n")).tuple.launcher, "torchrun");
  // A task of Slurm with the same numbers is Slurm's.
  const std::string same =
      "RANK=1\nWORLD_SIZE=2\nLOCAL_RANK=0\nLOCAL_WORLD_SIZE=1\nNODE_RANK=1\nMASTER_ADDR=n1\n"
      "MASTER_PORT=29500\n";
  EXPECT_EQ(MustResolve(Env(OneTaskANode(2, 1) + same + mark)).tuple.launcher, "slurm");
}

TEST(Composer, NestsInOneTaskANode) {
  const Resolution resolution = MustResolve(
      Env(OneTaskANode(2, 1) + "RANK=3\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nNODE_RANK=1\n"
                               "MASTER_ADDR=n1\nMASTER_PORT=1\nPYTHONUNBUFFERED=1\n"
                               "NCCL_ASYNC_ERROR_HANDLING=1\n"));
  EXPECT_EQ(resolution.tuple.launcher, "composer");
  EXPECT_EQ(VerdictOn("slurm", resolution.considered), "carrier");
}

// srun --mpi=cray_shasta: one world, which is Slurm's.
TEST(Pals, BesideASlurmTaskIsSlurms) {
  const Resolution resolution = MustResolve(
      Env(OneTaskANode(2, 1) + "PALS_RANKID=1\nPALS_LOCAL_RANKID=0\nPALS_NODEID=1\nPALS_APID=9.1\n"
                               "PMI_RANK=1\nPMI_SIZE=2\nPMI_LOCAL_RANK=0\nPMI_LOCAL_SIZE=1\n"));
  EXPECT_EQ(resolution.tuple.launcher, "slurm");
  EXPECT_EQ(VerdictOn("pals", resolution.considered), "same");
  EXPECT_EQ(VerdictOn("pmi", resolution.considered), "same");
}

TEST(Blaunch, IsARankWhereItIsForced) {
  const DetectOptions forced{.launcher = "blaunch"};
  const std::string text = "LSF_PM_TASKID=4\nLSB_DJOB_NUMPROC=4\nLSB_JOBID=7\n";
  const RankTuple tuple = MustResolve(Env(text), forced).tuple;
  EXPECT_EQ(tuple.rank, 3);
  EXPECT_EQ(tuple.world_size, 4);
  EXPECT_EQ(tuple.job.key, "blaunch:7:0");
  EXPECT_EQ(MustRefuse(Env("LSF_PM_TASKID=5\nLSB_DJOB_NUMPROC=4\n"), forced).error.message,
            "LSF_PM_TASKID=5 is outside 1 to LSB_DJOB_NUMPROC=4");
  EXPECT_EQ(MustRefuse(Env("LSF_PM_TASKID=0\nLSB_DJOB_NUMPROC=4\n"), forced).error.message,
            "LSF_PM_TASKID=0 is outside 1 to LSB_DJOB_NUMPROC=4");
  EXPECT_EQ(MustRefuse(Env("LSF_PM_TASKID=1\n"), forced).error.message,
            "LSF_PM_TASKID=1 is set but LSB_DJOB_NUMPROC is not: half a pair");
  // mpirun's daemons are its tasks.
  EXPECT_EQ(MustResolve(Env(text + Openmpi(0, 8, 0, 2))).tuple.launcher, "openmpi");
}

TEST(Documented, MeetWhereTheyCan) {
  const auto plan = [](const std::string& text) {
    const Environment environment = Env(text);
    return join::PlanMeeting(MustResolve(environment), environment, RendezvousOptions{});
  };
  const std::string jsrun =
      "JSM_NAMESPACE_RANK=1\nJSM_NAMESPACE_SIZE=4\nJSM_NAMESPACE_LOCAL_RANK=1\nLSB_JOBID=7\n";
  EXPECT_EQ(plan(jsrun + "JSM_NAMESPACE_LOCAL_SIZE=4\n")->find_root, FindRoot::kSameNode);
  EXPECT_EQ(plan(jsrun + "JSM_NAMESPACE_LOCAL_SIZE=2\n").error().code, Code::kConfiguration);
  const auto by_master = plan(jsrun + "JSM_NAMESPACE_LOCAL_SIZE=2\nMASTER_ADDR=a\nMASTER_PORT=4000\n");
  EXPECT_EQ(by_master->find_root, FindRoot::kHost);
  EXPECT_EQ(by_master->host, "a");
  const auto azure = plan("AZUREML_RUN_ID=e\nAZ_BATCH_MASTER_NODE=10.0.0.4:6105\n" + Openmpi(3, 4, 1, 2));
  EXPECT_EQ(azure->find_root, FindRoot::kHost);
  EXPECT_EQ(azure->host, "10.0.0.4");
  EXPECT_EQ(plan("JOB_COMPLETION_INDEX=3\nWORLD_SIZE=4\nMASTER_ADDR=job-0.svc\nMASTER_PORT=1\n")->host,
            "job-0.svc");
}

}  // namespace
}  // namespace muster::resolve
