#include "bootstrap/resolve/resolve_report.h"

#include <gtest/gtest.h>

#include "bootstrap/resolve/launchers/launchers.h"
#include "tests/bootstrap/resolve/fixtures.h"

namespace muster::resolve {
namespace {

resolve::Resolution Sample() {
  resolve::Resolution resolution;
  resolution.tuple = {.launcher = "slurm",
                      .rank = 5,
                      .world_size = 8,
                      .local_rank = 1,
                      .local_world_size = 2,
                      .node_rank = 2,
                      .num_nodes = 4,
                      .node = "gpu03",
                      .job = {.key = "slurm:4.0:0", .id = "4", .step = "0", .restart = 0},
                      .master = std::nullopt};
  resolution.considered = {{"openmpi", "absent", "OMPI_COMM_WORLD_RANK is not set"}};
  return resolution;
}

TEST(ResolveJson, IsTheDocumentedObject) {
  EXPECT_EQ(
      ResolveJson(Sample()),
      R"({"launcher":"slurm","rank":5,"world_size":8,"local_rank":1,"local_world_size":2,"node_rank":2,"num_nodes":4,)"
      R"("node":"gpu03","job":{"key":"slurm:4.0:0","id":"4","step":"0","restart":0},"master":null,)"
      R"("allocation":null,"warnings":[],"considered":[{"launcher":"openmpi","verdict":"absent",)"
      R"("reason":"OMPI_COMM_WORLD_RANK is not set"}]})"
      "\n");
}

TEST(ResolveJson, SaysNullForWhatIsUnknown) {
  resolve::Resolution resolution;
  resolution.tuple.launcher = "openmpi";
  resolution.tuple.job.key = "openmpi:77:0";
  resolution.tuple.master = Endpoint{"n1", 29500};
  resolution.warnings = {"a \"warning\""};
  EXPECT_EQ(
      ResolveJson(resolution),
      R"({"launcher":"openmpi","rank":0,"world_size":1,"local_rank":null,"local_world_size":null,"node_rank":null,)"
      R"("num_nodes":null,"node":null,"job":{"key":"openmpi:77:0","id":null,"step":null,"restart":0},)"
      R"("master":{"host":"n1","port":29500},"allocation":null,"warnings":["a \"warning\""],"considered":[]})"
      "\n");
}

TEST(ResolveJson, OfARefusalHasTheErrorAndTheAllocation) {
  resolve::Refusal refusal;
  refusal.error = {Code::kNotLaunched, "not a task", "srun muster ..."};
  refusal.allocation = resolve::Allocation{.manager = "slurm",
                                           .job_id = "13",
                                           .kind = "batch script",
                                           .nodelist = "gpu[01-03]",
                                           .num_nodes = 3,
                                           .tasks = 6,
                                           .node = "gpu01"};
  EXPECT_EQ(
      ResolveJson(refusal),
      R"({"error":{"code":"not_launched","message":"not a task","hint":"srun muster ..."},)"
      R"("allocation":{"manager":"slurm","job_id":"13","kind":"batch script","nodelist":"gpu[01-03]","num_nodes":3,)"
      R"("tasks":6,"node":"gpu01"},"considered":[]})"
      "\n");
  refusal.allocation.reset();
  refusal.error.hint.clear();
  EXPECT_EQ(
      ResolveJson(refusal),
      R"({"error":{"code":"not_launched","message":"not a task","hint":""},"allocation":null,"considered":[]})"
      "\n");
}

TEST(ResolveJson, SurvivesBytesThatAreNotText) {
  resolve::Resolution resolution = Sample();
  resolution.tuple.node = "gpu\xff";
  EXPECT_NE(ResolveJson(resolution).find("\"node\":\"gpu\xEF\xBF\xBD\""), std::string::npos);
}

// srun passes lines of up to 1 KiB on as they are; longer ones of several tasks run into each other.
TEST(ResolveJson, OfAnOrdinaryRankFitsIntoOneLineOfSrun) {
  for (const char* name :
       {"srun-block/7", "srun-boilerplate/3", "sbatch-step/5", "srun-pmix/4", "srun-torchrun-c10d/5"}) {
    const auto resolution = resolve::Resolve(Fixture(name));
    ASSERT_TRUE(resolution) << name;
    EXPECT_LT(ResolveJson(*resolution).size(), 1024u) << name;
  }
}

TEST(ResolveExport, IsReadableByAShell) {
  resolve::Resolution resolution = Sample();
  EXPECT_EQ(ResolveExport(resolution),
            "export RANK=5\nexport WORLD_SIZE=8\nexport LOCAL_RANK=1\nexport LOCAL_WORLD_SIZE=2\nexport "
            "NODE_RANK=2\n"
            "export GROUP_RANK=2\nexport GROUP_WORLD_SIZE=4\n");
  resolution.tuple.node_rank.reset();
  resolution.tuple.master = Endpoint{"it's $(here)", 29500};
  EXPECT_EQ(
      ResolveExport(resolution),
      "export RANK=5\nexport WORLD_SIZE=8\nexport LOCAL_RANK=1\nexport LOCAL_WORLD_SIZE=2\nunset NODE_RANK\n"
      "unset GROUP_RANK\nexport GROUP_WORLD_SIZE=4\nexport MASTER_ADDR='it'\\''s $(here)'\nexport "
      "MASTER_PORT=29500\n");
}

TEST(ResolveText, ShowsEveryFieldAndItsSource) {
  const auto resolution = resolve::Resolve(Fixture("srun-boilerplate/3"));
  ASSERT_TRUE(resolution);
  const std::string text = ResolveText(*resolution);
  const size_t considered = text.find("considered:\n");
  EXPECT_EQ(text.substr(0, considered), R"(rank 3 of 4, started by slurm

  rank              3                        SLURM_PROCID
  world_size        4                        SLURM_STEP_NUM_TASKS
  local_rank        0                        SLURM_LOCALID
  local_world_size  1                        SLURM_GTIDS (count)
  node_rank         1                        SLURM_NODEID
  num_nodes         2                        SLURM_STEP_NUM_NODES
  node              gpu002                   SLURMD_NODENAME
  job.id            12                       SLURM_JOB_ID
  job.step          0                        SLURM_STEP_ID
  master            gpu001:29500             MASTER_ADDR, MASTER_PORT, borrowed from torch-env

)");
  // All launchers: those whose absence is no news on one line.
  for (const char* line :
       {"  torch-env  same         rank 3 of 4 (RANK=3, WORLD_SIZE=4)\n",
        "  pmi        absent       no PMI_RANK\n", "absent, too: horovod (no HOROVOD_RANK), "}) {
    EXPECT_NE(text.find(line, considered), std::string::npos) << line << text;
  }
  const size_t rest = text.find("absent, too: ");
  for (const resolve::Launcher* launcher : resolve::Launchers()) {
    const size_t at = text.find(fmt::format(" {} ", launcher->name), considered);
    if (launcher->role == resolve::LauncherRole::kSlurm) continue;
    EXPECT_EQ(at > rest, launcher->IsDocumented() || launcher->rare) << launcher->name << text;
  }
}

TEST(ResolveText, SaysWhatIsUnknownAndWarns) {
  resolve::Resolution resolution = Sample();
  resolution.tuple.node_rank.reset();
  resolution.warnings = {"careful"};
  const std::string text = ResolveText(resolution);
  EXPECT_NE(text.find("  node_rank         unknown until the ranks have met\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nwarning: careful\n"), std::string::npos) << text;
}

TEST(ResolveText, OfARefusalSaysWhatToDo) {
  const auto resolution = resolve::Resolve(Fixture("sbatch-script/0"));
  ASSERT_FALSE(resolution);
  const std::string text = ResolveText(resolution.error());
  EXPECT_EQ(
      text.substr(0, text.find("\n\n")),
      "not a rank: this is the batch script of Slurm job 13 (6 tasks on gpu[01-03]), not one of its tasks\n"
      "what to do: start it with srun: srun muster ...; for a world of one: MUSTER_LAUNCHER=none (also "
      "--launcher "
      "none, or launcher: none in the configuration)");
  EXPECT_NE(text.find("\n  slurm      absent       no SLURM_STEP_ID: a batch script is not a task\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace muster::resolve
