#include "bootstrap/run/program/oom_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace muster::run {
namespace {

namespace fs = std::filesystem;

class OomWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    root = fs::path(testing::TempDir()) / ("oom_watch." + std::to_string(getpid()));
    fs::create_directories(root / "proc/self");
  }
  void TearDown() override { fs::remove_all(root); }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  OomWatch Watch() const { return OomWatch(root / "proc", root / "cgroup"); }

  fs::path root;
};

TEST_F(OomWatchTest, Version2) {
  Write("proc/self/cgroup", "0::/slurm/job_4/step_0/task_1\n");
  Write("cgroup/slurm/job_4/step_0/task_1/memory.events", "low 0\noom 4\noom_kill 1\noom_group_kill 0\n");
  const OomWatch watch = Watch();
  EXPECT_EQ(watch.Look(), rendezvous::OutOfMemory::kNo);
  Write("cgroup/slurm/job_4/step_0/task_1/memory.events", "low 0\noom 5\noom_kill 2\noom_group_kill 0\n");
  EXPECT_EQ(watch.Look(), rendezvous::OutOfMemory::kOwn);
}

// The task's group has no memory controller of its own.
TEST_F(OomWatchTest, Version2FurtherUp) {
  Write("proc/self/cgroup", "0::/slurm/job_4/step_0/task_1\n");
  Write("cgroup/slurm/job_4/memory.events", "oom_kill 0\n");
  const OomWatch watch = Watch();
  Write("cgroup/slurm/job_4/memory.events", "oom_kill 1\n");
  EXPECT_EQ(watch.Look(), rendezvous::OutOfMemory::kOwn);
}

TEST_F(OomWatchTest, Version1BesideVersion2) {
  Write("proc/self/cgroup",
        "9:cpu,cpuacct:/x\n8:memory:/slurm/uid_0/job_4/step_0\n1:name=systemd:/y\n0::/system.slice\n");
  Write("cgroup/memory/slurm/uid_0/job_4/step_0/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  const OomWatch watch = Watch();
  EXPECT_EQ(watch.Look(), rendezvous::OutOfMemory::kNo);
  Write("cgroup/memory/slurm/uid_0/job_4/step_0/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 8\n");
  EXPECT_EQ(watch.Look(), rendezvous::OutOfMemory::kOwn);
}

TEST_F(OomWatchTest, TheNodeWhereNothingElseIsKnown) {
  Write("proc/vmstat", "nr_free_pages 3\noom_kill 12\n");
  const OomWatch watch = Watch();
  EXPECT_EQ(watch.Look(), rendezvous::OutOfMemory::kNo);
  Write("proc/vmstat", "nr_free_pages 3\noom_kill 13\n");
  EXPECT_EQ(watch.Look(), rendezvous::OutOfMemory::kNode);
}

TEST_F(OomWatchTest, NothingToReadSaysNothing) {
  Write("proc/self/cgroup", "nonsense\n0::\n8:memory:/x\n");
  Write("proc/vmstat", "oom_kill many\n");
  EXPECT_EQ(Watch().Look(), rendezvous::OutOfMemory::kNo);
  EXPECT_EQ(OomWatch(root / "none", root / "none").Look(), rendezvous::OutOfMemory::kNo);
}

TEST_F(OomWatchTest, ThisMachineCanBeAsked) { EXPECT_EQ(OomWatch().Look(), rendezvous::OutOfMemory::kNo); }

}  // namespace
}  // namespace muster::run
