#include "bootstrap/process/reaper.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "bootstrap/process/descendants.h"

namespace muster::process {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(20)); }

pid_t ForkExit(int code) {
  const pid_t pid = fork();
  if (pid == 0) _exit(code);
  return pid;
}

pid_t ForkPause() {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  return pid;
}

// Ended, and not yet reaped.
void AwaitZombie(pid_t pid) {
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
}

bool IsZombie(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

TEST(ClaimedChild, KeepsItsStatusAndNumberWhateverIsReaped) {
  ClaimedChild child = ClaimedChild::Start([] { return ForkExit(3); });
  const pid_t pid = child.pid();
  AwaitZombie(pid);
  ReapOrphans();
  EXPECT_TRUE(IsZombie(pid)) << "its number may come to mean another process";
  EXPECT_EQ(child.Exited(), (ChildExit{3, 0}));
  child.Reap();
  EXPECT_FALSE(child);
  EXPECT_FALSE(IsZombie(pid));
}

TEST(ClaimedChild, IsLeftAloneWhileItIsBeingStarted) {
  ClaimedChild child = ClaimedChild::Start([] {
    const pid_t pid = ForkExit(4);
    AwaitZombie(pid);
    ReapOrphans();
    EXPECT_TRUE(IsZombie(pid));
    return pid;
  });
  EXPECT_EQ(child.Exited(), (ChildExit{4, 0}));
}

TEST(ClaimedChild, IsNoneWhereNothingWasStarted) {
  ClaimedChild child = ClaimedChild::Start([] {
    errno = ENOENT;
    return -1;
  });
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(child);
  EXPECT_EQ(child.Exited(), std::nullopt);
  EXPECT_TRUE(child.Signal(SIGKILL, true)) << "nobody is signalled";
  // An unclaimed process is reaped again.
  const pid_t pid = ForkExit(0);
  AwaitZombie(pid);
  ReapOrphans();
  EXPECT_FALSE(IsZombie(pid));
}

TEST(ClaimedChild, IsReapedWhenTheClaimIsGivenUp) {
  pid_t ended = 0;
  pid_t running = 0;
  {
    const ClaimedChild one = ClaimedChild::Start([] { return ForkExit(0); });
    const ClaimedChild other = ClaimedChild::Start(ForkPause);
    ended = one.pid();
    running = other.pid();
    AwaitZombie(ended);
  }
  EXPECT_FALSE(IsZombie(ended));
  kill(running, SIGKILL);
  AwaitZombie(running);
  ReapOrphans();
  EXPECT_FALSE(IsZombie(running));
}

TEST(ClaimedChild, MovesWithItsClaim) {
  ClaimedChild first = ClaimedChild::Start([] { return ForkExit(5); });
  const pid_t pid = first.pid();
  ClaimedChild second = std::move(first);
  AwaitZombie(pid);
  ReapOrphans();
  EXPECT_EQ(second.Exited(), (ChildExit{5, 0}));
  second = ClaimedChild();
  EXPECT_FALSE(IsZombie(pid));
}

TEST(KillDescendants, KillsWhatIsClaimedAndLeavesTheStatus) {
  ClaimedChild child = ClaimedChild::Start(ForkPause);
  ASSERT_TRUE(KillDescendants(Soon()));
  EXPECT_EQ(child.Exited(), (ChildExit{0, SIGKILL}));
}

// SIGKILL has not ended it.
TEST(KillDescendants, DoesNotWaitForWhatIsLeftBehind) {
  pid_t pid = 0;
  {
    ClaimedChild child = ClaimedChild::Start(ForkPause);
    pid = child.pid();
    child.LeaveBehind();
    EXPECT_TRUE(KillDescendants(Soon()));
    EXPECT_FALSE(IsZombie(pid));
  }
  EXPECT_TRUE(KillDescendants(Soon()));
  kill(pid, SIGKILL);
  AwaitZombie(pid);
  ReapOrphans();
  EXPECT_FALSE(IsZombie(pid));
}

TEST(KillChildren, LeavesWhoIsNoChild) {
  const pid_t child = fork();
  if (child == 0) {
    // A process of the same user, and no child of the one that is asked to kill it.
    std::vector<pid_t> others = {getppid()};
    _exit(KillChildren(others) && others.size() == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ChildExit, Describes) {
  EXPECT_EQ((ChildExit{3, 0}).Describe(), "exit 3");
  EXPECT_EQ((ChildExit{0, SIGKILL}).Describe(), "signal 9 (Killed)");
  EXPECT_EQ((ChildExit{0, SIGKILL}).ShellStatus(), 137);
}

}  // namespace
}  // namespace muster::process
