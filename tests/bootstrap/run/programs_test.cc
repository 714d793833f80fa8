#include "bootstrap/run/programs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/comm/base/folder.h"
#include "tests/comm/net/test_loop.h"

namespace muster::run {
namespace {

// The other ranks fail as a consequence, and would be reported as the first.
TEST(Programs, AReaderThatHasStoppedDoesNotDelayAFailure) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  while (write(ends[1], "x", 1) == 1) continue;
  const UniqueFd saved(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  dup2(ends[1], STDERR_FILENO);
  net::TestLoop loop;
  SupervisorPlan plan;
  plan.command = {"/bin/sh", "-c", "echo the reason >&2; exit 3"};
  report::RunRecorder recorder({});
  std::vector<EndedProgram> ended;
  Programs programs(
      *loop, plan, recorder, [] {}, [&](const EndedProgram& program) { ended.push_back(program); });
  const rendezvous::FormedGroup group = GroupOfOne("gpu01");
  ASSERT_FALSE(programs.Start(group, {0}, ""));
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(programs.Find(0)->pid()), &info, WEXITED | WNOWAIT), 0);
  programs.NoticeExits();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended.front().exit, (process::ChildExit{3, 0}));
  EXPECT_EQ(programs.Find(0)->TailOfStderr(), "the reason");
  EXPECT_TRUE(programs.all_ended());
  EXPECT_FALSE(programs.written());
  dup2(saved.get(), STDERR_FILENO);
  close(ends[0]);
  close(ends[1]);
}

// MUSTER_LAUNCHER=none would reach the ranks of srun or sbatch in the program: each would be a world of one.
TEST(Programs, OfMusterOnceAreASingleTask) {
  SupervisorPlan plan;
  plan.who = WhoRuns::kFirstRank;
  plan.environment = {{"SLURM_JOB_ID", "9"},    {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"},
                      {"SLURM_TASK_PID", "77"}, {"PMI_RANK", "3"},     {"MUSTER_LAUNCHER", "slurm"}};
  const Variables variables = VariablesFor(plan, GroupOfOne("gpu01").roster, 0, "");
  EXPECT_EQ(variables.at("SLURM_PROCID"), "0");
  EXPECT_EQ(variables.at("SLURM_NTASKS"), "1");
  for (const char* name : {"SLURM_TASK_PID", "PMI_RANK", "MUSTER_LAUNCHER"})
    EXPECT_FALSE(variables.contains(name)) << name;
}

// Else a program that reads mpirun's variables, as muster's library does, would be in the group of mpirun's ranks.
TEST(Programs, OfALaunchOfOneAreASingleTask) {
  SupervisorPlan plan;
  plan.own_group = true;
  plan.environment = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  const Variables variables = VariablesFor(plan, GroupOfOne("gpu01").roster, 0, "");
  EXPECT_EQ(variables.at("RANK"), "0");
  EXPECT_EQ(variables.at("WORLD_SIZE"), "1");
  EXPECT_FALSE(variables.contains("OMPI_COMM_WORLD_RANK"));
  EXPECT_FALSE(variables.contains("OMPI_COMM_WORLD_SIZE"));
  plan.own_group = false;
  EXPECT_EQ(VariablesFor(plan, GroupOfOne("gpu01").roster, 0, "").at("OMPI_COMM_WORLD_RANK"), "1");
}

// Else the output of all attempts would be in one file.
TEST(Programs, OfAWorldOfOneHaveLogFilesForEachRestart) {
  net::TestLoop loop;
  const Folder folder;
  SupervisorPlan plan;
  plan.config.run.log_dir = folder.path();
  plan.job_restart = 2;
  plan.restarts = 1;
  report::RunRecorder recorder({});
  Programs programs(
      *loop, plan, recorder, [] {}, [](const EndedProgram&) {});
  bool opened = false;
  programs.OpenFiles(GroupOfOne("gpu01").roster, {0}, [&] { opened = true; });
  ASSERT_TRUE(loop.Until([&] { return opened; }));
  EXPECT_TRUE(folder.Has("rank0.3.gpu01.out"));
  EXPECT_TRUE(folder.Has("rank0.3.gpu01.err"));
}

// `muster run -- sh -c 'python train.py; ...'`: the member of the group is no process of this supervisor.
TEST(Programs, AConnectedProcessThatIsNotTheProgramIsAHelper) {
  net::TestLoop loop;
  SupervisorPlan plan;
  plan.command = {"/bin/sleep", "1000"};
  report::RunRecorder recorder({});
  Programs programs(
      *loop, plan, recorder, [] {}, [](const EndedProgram&) {});
  ASSERT_FALSE(programs.Start(GroupOfOne("gpu01"), {0}, ""));
  EXPECT_FALSE(programs.HelperOf(0, 0)) << "in another PID namespace";
  EXPECT_FALSE(programs.HelperOf(0, programs.Find(0)->pid()));
  const auto running = programs.HelperOf(0, getpid());
  ASSERT_TRUE(running);
  EXPECT_EQ(running->pid, getpid());
  EXPECT_FALSE(running->ended);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED), 0);
  const auto ended = programs.HelperOf(0, child);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->ended);
}

}  // namespace
}  // namespace muster::run
