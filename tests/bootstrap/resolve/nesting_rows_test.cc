// Every row of the table of edge cases that the rule for nested launchers was made from, in its order.
#include <gtest/gtest.h>

#include "bootstrap/join/meeting.h"
#include "bootstrap/resolve/detect.h"
#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::resolve {
namespace {

// A refusal has launcher "" and its code's name in place of a rank.
struct Row {
  const char* what;
  Environment environment;
  const char* verdict;  // "slurm 5/8", "refused not_launched"
  std::vector<std::string> forced = {};
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.what; }

std::string VerdictOf(const Environment& environment, const DetectOptions& options = {}) {
  const auto resolution = Resolve(environment, options);
  if (!resolution) return fmt::format("refused {}", CodeName(resolution.error().error.code));
  const RankTuple& tuple = resolution->tuple;
  return fmt::format("{} {}/{}", tuple.launcher, tuple.rank, tuple.world_size);
}

class RowTest : public testing::TestWithParam<Row> {};

TEST_P(RowTest, IsDecidedSo) {
  const Row& row = GetParam();
  EXPECT_EQ(VerdictOf(row.environment), row.verdict) << row.what;
  for (const std::string& verdict : row.forced) {
    DetectOptions options;
    options.launcher = verdict.substr(0, verdict.find(' '));
    EXPECT_EQ(VerdictOf(row.environment, options), verdict) << row.what;
  }
}

Environment Live(const std::string& text, pid_t pid) {
  return Env(text).AsProcess({.pid = pid, .parent = 1, .uid = 1000, .host_name = "n2"});
}

const std::string kFlux =
    "FLUX_TASK_RANK=3\nFLUX_JOB_SIZE=4\nFLUX_TASK_LOCAL_ID=1\nFLUX_JOB_NNODES=2\nFLUX_JOB_ID=f58\n"
    "PMI_RANK=3\nPMI_SIZE=4\n";

INSTANTIATE_TEST_SUITE_P(
    All, RowTest,
    testing::Values(
        Row{"sbatch script, no srun", Fixture("sbatch-script/0"), "refused not_launched", {"none 0/1"}},
        Row{"the same in Slurm 25.11", Fixture("slurm25.11-batch/0"), "refused not_launched"},
        Row{"salloc and a plain program", Fixture("salloc-shell/x"), "refused not_launched", {"none 0/1"}},
        Row{"interactive step", Fixture("slurm25.11-interactive/0"), "refused not_launched", {"none 0/1"}},
        Row{"sbatch, mpirun", Env(BatchScript() + Openmpi(2, 4, 2, 4)), "openmpi 2/4"},
        Row{"sbatch, mpiexec", Env(BatchScript() + Hydra(2, 4, 2, 4)), "hydra 2/4"},
        Row{"salloc, mpirun over uneven nodes", Fixture("mpirun-ompi-in-salloc/5"), "openmpi 5/6"},
        Row{"sbatch, srun with one task a node, torchrun", Fixture("srun-torchrun-c10d/5"), "torchrun 5/6"},
        Row{"sbatch, torchrun", Fixture("sbatch-torchrun/0"), "torchrun 0/4"},
        Row{"a data loader forked by a torchrun worker: its rank, for want of a mark",
            Live(Torchrun(1, 2, 1, 2, 0, 1), 99), "torchrun 1/2"},
        Row{"a torchrun worker, mpirun",
            Env(Torchrun(1, 2, 1, 2, 0, 1) + Openmpi(2, 3, 2, 3)),
            "refused bad_environment",
            {"torchrun 1/2", "openmpi 2/3"}},
        Row{"a torchrun worker, srun",
            Env(Torchrun(2, 6, 2, 6, 0, 1) + OneTaskANode(4, 1)),
            "refused bad_environment",
            {"slurm 1/4", "torchrun 2/6"}},
        Row{"the same, in the process that Slurm started",
            Live(Torchrun(2, 6, 2, 6, 0, 1) + OneTaskANode(4, 1) + "SLURM_TASK_PID=77\n", 77), "slurm 1/4"},
        Row{"Flux inside Slurm: the broker cleared its variables", Env("SLURM_JOB_ID=9\n" + kFlux),
            "flux 3/4"},
        Row{"Slurm inside Flux: the broker cleared its own",
            Env(OneTaskANode(2, 1) + "FLUX_URI=local:///x\n"), "slurm 1/2"},
        Row{"PALS in PBS",
            Env("PBS_JOBID=7.x\nPBS_NODENUM=0\nPALS_RANKID=3\nPALS_LOCAL_RANKID=1\nPALS_LOCAL_SIZE=2\n"
                "PALS_NODEID=1\nPALS_APID=a\nPMI_RANK=3\nPMI_SIZE=4\n"),
            "pals 3/4"},
        Row{"jsrun",
            Env("LSB_JOBID=7\nLSB_DJOB_NUMPROC=9\nJSM_NAMESPACE_RANK=3\nJSM_NAMESPACE_SIZE=4\n"
                "JSM_NAMESPACE_LOCAL_RANK=1\nJSM_NAMESPACE_LOCAL_SIZE=2\n" +
                Openmpi(3, 4, 1, 2)),
            "jsrun 3/4"},
        Row{"pyxis and enroot's hook", Env(OneTaskANode(2, 1) + Bare(1, 2, 0)), "slurm 1/2"},
        Row{"heterogeneous job, both components", Fixture("hetjob-both/3"), "slurm 3/5"},
        Row{"array job", Fixture("array-3/2"), "slurm 2/3"},
        Row{"uneven tasks", Fixture("srun-block/7"), "slurm 7/8"},
        Row{"a pod with RANK and no LOCAL_RANK",
            Env("RANK=1\nWORLD_SIZE=4\nMASTER_ADDR=a\nMASTER_PORT=1\n"),
            "refused bad_environment",
            {"torch-env 1/4"}},
        Row{"SLURM_PROCID, the step's variables stripped",
            Changed(Fixture("srun-block/5"), {{"SLURM_STEP_ID", std::nullopt},
                                              {"SLURM_STEPID", std::nullopt},
                                              {"SLURM_STEP_NODELIST", std::nullopt},
                                              {"SLURM_STEP_NUM_TASKS", std::nullopt},
                                              {"SLURM_STEP_NUM_NODES", std::nullopt}}),
            "refused bad_environment",
            {"slurm 5/8"}},
        Row{"WORLD_SIZE and MASTER_ADDR exported in the batch script, and right",
            Env(OneTaskANode(2, 1) + "WORLD_SIZE=2\nMASTER_ADDR=n1\nMASTER_PORT=29500\n"), "slurm 1/2"},
        Row{"the same, and wrong",
            Env(OneTaskANode(2, 1) + "WORLD_SIZE=8\nMASTER_ADDR=n1\nMASTER_PORT=29500\n"),
            "refused bad_environment"},
        Row{"RANK exported by hand in the batch script",
            Fixture("srun-stale-rank/3"),
            "refused bad_environment",
            {"slurm 3/4", "torch-env 0/4", "none 0/1"}},
        Row{"mp.spawn inside srun", Fixture("srun-mpspawn/3"), "torch-env 3/4"}));

TEST(Rows, AHeterogeneousJobIsNamedByItsLeaderInEveryComponent) {
  std::vector<std::string> keys;
  for (const char* rank : {"0", "1", "2", "3", "4"}) {
    const auto resolution = Resolve(Fixture(std::string("hetjob-both/") + rank));
    ASSERT_TRUE(resolution);
    keys.push_back(resolution->tuple.job.key);
  }
  EXPECT_EQ(keys, std::vector<std::string>(5, keys[0]));
}

std::string MeetingKeyOf(const Environment& environment) {
  const auto resolution = Resolve(environment);
  EXPECT_TRUE(resolution);
  const auto meeting = join::PlanMeeting(*resolution, environment, RendezvousOptions{});
  return meeting ? meeting->key + "\n" + meeting->job_key : meeting.error().message;
}

TEST(Rows, ASecondStepAndASecondLifeMeetApart) {
  const Environment task = Fixture("srun-block/5");
  const Environment step = Changed(task, {{"SLURM_STEP_ID", "7"}, {"SLURM_STEPID", "7"}});
  const Environment life = Changed(task, {{"SLURM_RESTART_COUNT", "1"}});
  const Environment element = Changed(task, {{"SLURM_JOB_ID", "3"}, {"SLURM_JOBID", "3"}});
  EXPECT_NE(MeetingKeyOf(task), MeetingKeyOf(step));
  EXPECT_NE(MeetingKeyOf(task), MeetingKeyOf(life));
  EXPECT_NE(MeetingKeyOf(task), MeetingKeyOf(element));
  const Environment worker = Fixture("torchrun-standalone/2");
  EXPECT_NE(MeetingKeyOf(worker), MeetingKeyOf(Changed(worker, {{"TORCHELASTIC_RESTART_COUNT", "1"}})));
}

TEST(Rows, AStrippedStepListsWhatIsMissing) {
  const auto resolution = Resolve(Changed(Fixture("srun-block/5"), {{"SLURM_STEP_NODELIST", std::nullopt}}));
  ASSERT_FALSE(resolution);
  EXPECT_EQ(resolution.error().error.message,
            "this is probably a task of a Slurm step, with a part of its variables removed: missing "
            "SLURM_STEP_NODELIST");
}

TEST(Rows, ThePlacementUnderTorchrunIsTorchruns) {
  const auto resolution = Resolve(Fixture("srun-torchrun-c10d/5"));
  ASSERT_TRUE(resolution);
  ASSERT_TRUE(resolution->tuple.master);
  const auto meeting = join::PlanMeeting(*resolution, Fixture("srun-torchrun-c10d/5"), RendezvousOptions{});
  ASSERT_TRUE(meeting);
  EXPECT_EQ(meeting->torch_store, resolution->tuple.master);
}

}  // namespace
}  // namespace muster::resolve
