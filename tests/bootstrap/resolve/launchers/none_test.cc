// No launcher: a world of one, but not if a batch system beside Slurm shows more than one host or task.
#include <gtest/gtest.h>

#include <fstream>

#include "bootstrap/resolve/detect.h"
#include "tests/bootstrap/resolve/fixtures.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::resolve {
namespace {

using testing_support::Bare;
using testing_support::Env;
using testing_support::MustRefuse;
using testing_support::MustResolve;
using testing_support::Openmpi;

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
           Row{"PBS_NODEFILE=/nowhere\nPBS_NUM_NODES=3", "PBS on 3 hosts (PBS_NUM_NODES=3)"},
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
