#include "bootstrap/process/signal_reach.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "comm/system/proc_file.h"
#include "tests/bootstrap/process/finish_child.h"

namespace muster::process {
namespace {

TEST(TrackingGroup, IsTheFreezerAndTheUnifiedHierarchy) {
  EXPECT_EQ(TrackingGroup("9:pids:/a\n7:freezer:/slurm/uid_0/job_1/step_0\n4:memory:/b\n0::/\n"),
            "7:freezer:/slurm/uid_0/job_1/step_0\n0::/\n");
  EXPECT_EQ(TrackingGroup("0::/system.slice/slurmstepd.scope/job_1/step_0/user/task_0\n"),
            "0::/system.slice/slurmstepd.scope/job_1/step_0/user/task_0\n");
  EXPECT_EQ(TrackingGroup("1:name=systemd:/x\ngarbage\n"), "");
}

TEST(IsOutsideSteps, NeedsAGroupOfItsOwn) {
  EXPECT_TRUE(IsOutsideSteps("0::/system.slice/slurmd.service\n"));
  EXPECT_TRUE(IsOutsideSteps("7:freezer:/\n0::/system.slice/slurmd.service\n"));
  EXPECT_FALSE(IsOutsideSteps("0::/system.slice/slurmstepd.scope/job_1/step_0/user/task_0\n"));
  EXPECT_FALSE(IsOutsideSteps("7:freezer:/slurm/uid_0/job_1/step_0\n0::/\n"));
  EXPECT_FALSE(IsOutsideSteps("7:freezer:/\n0::/\n")) << "perhaps in a cgroup namespace";
  EXPECT_FALSE(IsOutsideSteps(""));
}

TEST(ReachedProgram, FollowsTheTerminalIntoItsForegroundGroup) {
  const SignalEvent ctrl_c{SIGINT, 0, true};
  EXPECT_TRUE(ReachedProgram(ctrl_c, false, false));
  EXPECT_FALSE(ReachedProgram(ctrl_c, true, false));
}

// `ssh -t host muster launch ...`: a hang-up is for the session's leader alone.
TEST(ReachedProgram, IsFalseForAHangUpOfTheSessionsLeader) {
  const SignalEvent hang_up{SIGHUP, 0, true};
  EXPECT_EQ(ReachedProgram(hang_up, false, false), getsid(0) != getpid());
  const pid_t leader = fork();
  if (leader == 0) {
    setsid();
    const bool interrupt = ReachedProgram({SIGINT, 0, true}, false, false);
    _exit(interrupt && !ReachedProgram(hang_up, false, false) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(leader, &status, 0), leader);
  EXPECT_EQ(status, 0);
}

TEST(ReachedProgram, IsFalseForAPersonsKill) {
  EXPECT_FALSE(ReachedProgram({SIGTERM, getpid(), false}, true, false));
  EXPECT_FALSE(ReachedProgram({SIGTERM, 0, false}, true, false));
}

// A slurmstepd in our own control group: linuxproc, which signals the whole tree.
TEST(ReachedProgram, IsTrueForASlurmstepdThatHasNoGroupForTheStep) {
  const pid_t stepd = fork();
  ASSERT_GE(stepd, 0);
  if (stepd == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "slurmstepd");
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(stepd, &status, WUNTRACED), stepd);
  EXPECT_TRUE(ReachedProgram({SIGTERM, stepd, false}, true, false));
  kill(stepd, SIGKILL);
  ASSERT_EQ(waitpid(stepd, &status, 0), stepd);
  EXPECT_FALSE(ReachedProgram({SIGTERM, stepd, false}, true, false));
}

TEST(FromScheduler, IsFalseForAKillOfTheSameUser) {
  EXPECT_FALSE(FromScheduler({SIGTERM, getpid(), false}));
  EXPECT_FALSE(FromScheduler({SIGINT, 0, true}));
  EXPECT_TRUE(FromScheduler({SIGTERM, 0, false})) << "outside the PID namespace";
}

// `sudo kill`, which has ended: nothing follows it.
TEST(FromScheduler, IsFalseForAProcessOfAnotherUserThatHasEnded) {
  const pid_t ended = fork();
  ASSERT_GE(ended, 0);
  if (ended == 0) _exit(0);
  ASSERT_EQ(waitpid(ended, nullptr, 0), ended);
  EXPECT_FALSE(FromScheduler({SIGTERM, ended, false, getuid() + 1}));
}

// By a child of another user, with a /proc that hides the name and the control group of its parent, as of root's
// slurmstepd. Absent: no right to mount one.
std::optional<bool> WithHiddenParent(bool (*holds)(const SignalEvent& of_parent)) {
  constexpr int kNoMount = 2;
  if (getuid() != 0) return std::nullopt;
  const pid_t user = fork();
  if (user == 0) {
    const bool mounted = unshare(CLONE_NEWNS) == 0 &&
                         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("proc", "/proc", "proc", 0, "hidepid=2") == 0;
    // The group 0 sees what hidepid= hides.
    if (!mounted || setgroups(0, nullptr) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(kNoMount);
    _exit(holds({SIGTERM, getppid(), false, 0}) ? 0 : 1);
  }
  int status = 0;
  if (waitpid(user, &status, 0) != user || WEXITSTATUS(status) == kNoMount) return std::nullopt;
  return status == 0;
}

TEST(FromScheduler, IsTrueForAProcessOfAnotherUserWhoseNameIsHidden) {
  const auto scheduler = WithHiddenParent(FromScheduler);
  if (!scheduler) GTEST_SKIP() << "needs root: a mount";
  EXPECT_TRUE(*scheduler);
}

// linuxproc
TEST(ReachedProgram, IsTrueForAHiddenParentOfATaskOutsideSteps) {
  const auto task =
      WithHiddenParent([](const SignalEvent& event) { return ReachedProgram(event, true, true); });
  if (!task) GTEST_SKIP() << "needs root: a mount";
  EXPECT_EQ(*task, IsOutsideSteps(TrackingGroup(ReadProcFile("/proc/self/cgroup").value_or(""))));
  const auto other =
      WithHiddenParent([](const SignalEvent& event) { return ReachedProgram(event, true, false); });
  EXPECT_EQ(other, false) << "its parent may be sudo";
}

}  // namespace
}  // namespace muster::process
