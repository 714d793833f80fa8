// No launcher: a world of one, but not if a batch system beside Slurm shows more than one host or task.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "bootstrap/resolve/detect.h"
#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::resolve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Batch systems beside Slurm.
TEST(SeveralHosts, AreNoWorldOfOne) {
  const std::string hosts = testing::TempDir() + "/hosts";
  std::ofstream(hosts) << "n1\nn1\nn2 4 all.q UNDEFINED\n\n";
  const auto refusal = [](const std::string& text) {
    return MustRefuse(Env(text).AsProcess({.pid = 5, .host_name = "n1"})).error;
  };
  struct Row {
    std::string text;
    std::string what;
  };
  for (const Row& row : {
           Row{"PBS_NODEFILE=" + hosts, "PBS on 2 hosts (PBS_NODEFILE=" + hosts + ")"},
           Row{"OAR_NODEFILE=" + hosts, "OAR on 2 hosts (OAR_NODEFILE=" + hosts + ")"},
           Row{"PE_HOSTFILE=" + hosts, "Grid Engine on 2 hosts (PE_HOSTFILE=" + hosts + ")"},
           Row{"PE_HOSTFILE=/x\nNHOSTS=4", "Grid Engine on 4 hosts (NHOSTS=4)"},
           Row{"PBS_NUM_NODES=3", "PBS on 3 hosts (PBS_NUM_NODES=3)"},
           Row{"LSB_MCPU_HOSTS=a 32 b 32 ", "LSF on 2 hosts (LSB_MCPU_HOSTS=a 32 b 32 )"},
           Row{"LSB_MCPU_HOSTS=a 1 a 8  b 8", "LSF on 2 hosts (LSB_MCPU_HOSTS=a 1 a 8  b 8)"},
           Row{"CSM_ALLOCATION_ID=3\nLSB_MCPU_HOSTS=l 1 a 42 b 42",
               "LSF on 2 hosts (LSB_MCPU_HOSTS=l 1 a 42 b 42)"},
           Row{"COBALT_PARTSIZE=8", "Cobalt on 8 hosts (COBALT_PARTSIZE=8)"},
       }) {
    EXPECT_EQ(
        refusal(row.text),
        (Error{Code::kNotLaunched,
               fmt::format("this is an allocation of {}, and no launcher started this process as a rank",
                           row.what),
               "start it with the launcher of the site or of MPI, such as mpiexec; for a world of one: "
               "MUSTER_LAUNCHER=none"}));
    EXPECT_EQ(MustResolve(Env(row.text), {.launcher = "none"}).tuple.world_size, 1);
    EXPECT_EQ(MustResolve(Env(row.text + "\n" + Openmpi(1, 2, 1, 2))).tuple.launcher, "openmpi");
  }
  for (const char* one :
       {"PBS_NODEFILE=/nowhere", "NHOSTS=4", "LSB_MCPU_HOSTS=a 32", "COBALT_PARTSIZE=1", "PBS_TASKNUM=1"})
    EXPECT_EQ(MustResolve(Env(one).AsProcess({.pid = 5, .host_name = "n1"})).tuple.launcher, "none") << one;
}

// One host with several slots, and what the launch node of jsrun shows.
TEST(OneHost, IsAWorldOfOne) {
  const std::string slots = testing::TempDir() + "/slots";
  std::ofstream(slots) << "n1\nn1\nn1\nn1\n";
  const std::string slot = testing::TempDir() + "/slot";
  std::ofstream(slot) << "n1\n";
  for (const std::string& one : {
           "PBS_NUM_NODES=4\nPBS_NODEFILE=" + slots,
           "PBS_TASKNUM=5\nPBS_NODEFILE=" + slot,
           std::string("LSB_MCPU_HOSTS=a 1 a 8"),
           std::string("LSB_MCPU_HOSTS=a  32"),
           std::string("CSM_ALLOCATION_ID=3\nLSB_MCPU_HOSTS=batch5 1 g01n01 42"),
           std::string("JSM_SMPI_LAUNCHER=1\nLSB_MCPU_HOSTS=batch5 1 g01n01 42"),
       })
    EXPECT_EQ(MustResolve(Env(one).AsProcess({.pid = 5, .host_name = "n1"})).tuple.launcher, "none") << one;
  const Environment task = Env("PBS_TASKNUM=5\nPBS_NODEFILE=" + slots);
  EXPECT_EQ(MustRefuse(task.AsProcess({.pid = 5, .host_name = "n1"})).error.message,
            "PBS_TASKNUM=5 is a task of PBS, without the number of tasks");
}

// In a container, for example.
TEST(AHostFileThatCannotBeRead, IsNamed) {
  const auto warnings = [](const std::string& text, const DetectOptions& options = {}) {
    const Resolution one = MustResolve(Env(text).AsProcess({.pid = 5, .host_name = "n1"}), options);
    EXPECT_EQ(one.tuple.launcher, "none");
    return one.warnings;
  };
  const std::string end =
      "/nowhere cannot be read, so this is a world of one, whatever the number of hosts: in a container, "
      "bind the file into it";
  for (const std::string name : {"PBS_NODEFILE", "OAR_NODEFILE", "PE_HOSTFILE", "COBALT_NODEFILE"})
    EXPECT_THAT(warnings(name + "=/nowhere"), ElementsAre(fmt::format("{}={}", name, end)));
  // Four slots of one host, or four hosts.
  const Environment several = Env("PBS_NODEFILE=/nowhere\nPBS_NUM_NODES=4");
  EXPECT_EQ(MustRefuse(several.AsProcess({.pid = 5, .host_name = "n1"})).error.code, Code::kNotLaunched);
  // A variable shows that there is one host.
  EXPECT_THAT(warnings("PBS_NODEFILE=/nowhere\nPBS_NUM_NODES=1"), IsEmpty());
  EXPECT_THAT(warnings("PE_HOSTFILE=/nowhere\nNHOSTS=1"), IsEmpty());
  EXPECT_THAT(warnings("COBALT_NODEFILE=/nowhere\nCOBALT_PARTSIZE=1"), IsEmpty());
  EXPECT_THAT(warnings("PBS_NODEFILE=/nowhere", {.launcher = "none"}), IsEmpty());
  EXPECT_THAT(warnings("PBS_NODEFILE="), IsEmpty());
  EXPECT_THAT(MustResolve(Env("PBS_NODEFILE=/nowhere")).warnings, IsEmpty());
}

// srun env -i, srun apptainer exec --cleanenv
TEST(ATaskOfSlurmWithoutItsVariables, IsNamed) {
  const auto warnings = [](const std::string& step, const std::string& text = "",
                           DetectOptions options = {}) {
    return MustResolve(Env(text).AsProcess({.pid = 5, .host_name = "n1", .slurm_step = step}), options)
        .warnings;
  };
  EXPECT_THAT(
      warnings("9.0"),
      ElementsAre(
          "Slurm's step 9.0 started this process, but its variables were removed, so this is a world of "
          "one, whatever the number of tasks: pass SLURM_* on (in a container: without --cleanenv)"));
  EXPECT_THAT(warnings("9.0", "", {.launcher = "none"}), IsEmpty());
  EXPECT_THAT(warnings("9.0", Openmpi(1, 2, 1, 2)), IsEmpty());
  // ssh into a job, a shell of salloc, no Slurm.
  for (const char* step : {"9.extern", "9.interactive", "9.batch", "?.batch", ""})
    EXPECT_THAT(warnings(step), IsEmpty()) << step;
}

// A manager starts the same command on each node: a world of one on all of them is wrong results without a message.
TEST(OneOfSeveralProcesses, IsNoWorldOfOne) {
  struct Row {
    std::string manager;
    std::string number;
    std::string count;
  };
  for (const Row& row : {Row{"AWS Batch", "AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_NUM_NODES"},
                         Row{"SkyPilot", "SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES"},
                         Row{"Volcano", "VC_TASK_INDEX", "VC_WORKER_NUM"},
                         Row{"Beaker", "BEAKER_REPLICA_RANK", "BEAKER_REPLICA_COUNT"},
                         Row{"HTCondor", "_CONDOR_PROCNO", "_CONDOR_NPROCS"},
                         Row{"PaddlePaddle", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"},
                         Row{"JAX", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES"}}) {
    const std::string text = fmt::format("{}=1\n{}=4\n", row.number, row.count);
    EXPECT_EQ(
        MustRefuse(Env(text)).error,
        (Error{Code::kNotLaunched,
               fmt::format("{}=1 is a process of {}, one of {}=4, and no launcher started it as a rank",
                           row.number, row.manager, row.count),
               "give --rank 1 --world-size 4 --endpoint HOST:PORT, with the host of rank 0; for a world of "
               "one: MUSTER_LAUNCHER=none"}));
    EXPECT_EQ(MustResolve(Env(text), {.launcher = "none"}).tuple.world_size, 1);
    EXPECT_EQ(MustResolve(Env(text + Bare(1, 4, 0))).tuple.launcher, "torch-env");
    EXPECT_EQ(MustResolve(Env(fmt::format("{}=0\n{}=1\n", row.number, row.count))).tuple.launcher, "none");
  }
}

// sbatch and srun have the counterpart of each.
TEST(SeveralHosts, AreAnAllocation) {
  const auto refusal = [](const std::string& text) { return MustRefuse(Env(text)); };
  const Refusal pbs = refusal("PBS_NUM_NODES=3\nPBS_JOBID=7.server");
  EXPECT_EQ(pbs.allocation,
            (Allocation{.manager = "pbs", .job_id = "7.server", .kind = "batch script", .num_nodes = 3}));
  EXPECT_EQ(refusal("LSB_MCPU_HOSTS=a 32 b 32\nLSB_JOBID=4").allocation,
            (Allocation{.manager = "lsf", .job_id = "4", .kind = "batch script", .num_nodes = 2}));
  EXPECT_EQ(refusal("PE_HOSTFILE=/x\nNHOSTS=4").allocation,
            (Allocation{.manager = "grid-engine", .kind = "batch script", .num_nodes = 4}));
  // As in a batch script of Slurm, WORLD_SIZE alone is not the problem.
  const Refusal exported = refusal("PBS_NUM_NODES=3\nWORLD_SIZE=8");
  EXPECT_EQ(exported.error.code, Code::kNotLaunched);
  EXPECT_TRUE(exported.allocation);
  EXPECT_EQ(refusal("PBS_TASKNUM=5").allocation, std::nullopt);
  EXPECT_EQ(refusal("WORLD_SIZE=8").error.code, Code::kBadEnvironment);
  EXPECT_EQ(refusal("PBS_NUM_NODES=3\nRANK=1\nWORLD_SIZE=8").error.code, Code::kBadEnvironment);
}

// `flux batch` and `flux alloc` start a script on the first of their nodes.
TEST(AScriptOfFlux, IsTaken) {
  const std::string script = "FLUX_URI=local:///tmp/flux-a/local-0\n";
  const Resolution one = MustResolve(Env(script));
  EXPECT_EQ(one.tuple.launcher, "none");
  EXPECT_THAT(
      one.warnings,
      ElementsAre("FLUX_URI is set, but no launcher started this process as a rank: if the Flux instance "
                  "has several nodes, start it with flux run"));
  const Resolution task = MustResolve(
      Env(script +
          "FLUX_JOB_ID=f58\nFLUX_TASK_RANK=0\nFLUX_JOB_SIZE=1\nFLUX_TASK_LOCAL_ID=0\nFLUX_JOB_NNODES=1\n"));
  EXPECT_EQ(task.tuple.launcher, "flux");
  EXPECT_THAT(task.warnings, IsEmpty());
  EXPECT_THAT(MustResolve(Env(script + Openmpi(0, 2, 0, 2))).warnings, IsEmpty());
}

// aprun: PE 0 may be the only one.
TEST(TheFirstPeOfAlps, IsTakenForTheOnlyOne) {
  const Resolution one = MustResolve(Env("ALPS_APP_PE=0\nALPS_APP_DEPTH=1"));
  EXPECT_EQ(one.tuple.launcher, "none");
  EXPECT_THAT(
      one.warnings,
      ElementsAre("ALPS_APP_PE=0 is a task of ALPS, without the number of tasks, and is taken for the only "
                  "one: if aprun starts several, give --rank and --world-size, or set RANK and WORLD_SIZE"));
  EXPECT_THAT(MustResolve(Env("ALPS_APP_PE=0\n" + Bare(0, 2, 0))).warnings, IsEmpty());
  EXPECT_THAT(MustResolve(Env("ALPS_APP_PE=0"), {.launcher = "none"}).warnings, IsEmpty());
  // Not "start it with mpiexec": aprun has.
  for (const char* hosts : {"PBS_NUM_NODES=3", "COBALT_PARTSIZE=8"}) {
    EXPECT_EQ(MustRefuse(Env(std::string("ALPS_APP_PE=0\n") + hosts)).error.message,
              "ALPS_APP_PE=0 is a task of ALPS, without the number of tasks");
  }
}

// aprun, pbsdsh.
TEST(ATaskWithoutItsNumberOfTasks, IsNoWorldOfOne) {
  for (const auto& [text, what] : {std::pair("ALPS_APP_PE=3", "ALPS_APP_PE=3 is a task of ALPS"),
                                   std::pair("PBS_TASKNUM=5", "PBS_TASKNUM=5 is a task of PBS")}) {
    EXPECT_EQ(MustRefuse(Env(text)).error,
              (Error{Code::kBadEnvironment, fmt::format("{}, without the number of tasks", what),
                     "give --rank and --world-size, or set RANK and WORLD_SIZE; for a world of one: "
                     "MUSTER_LAUNCHER=none"}));
    EXPECT_EQ(MustResolve(Env(text + ("\n" + Bare(1, 2, 1)))).tuple.launcher, "torch-env");
  }
}

}  // namespace
}  // namespace muster::resolve
