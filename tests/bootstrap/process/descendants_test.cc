#include "bootstrap/process/descendants.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <thread>

#include "tests/bootstrap/process/finish_child.h"

namespace muster::process {
namespace {

using testing::Contains;
using testing::IsEmpty;

constexpr auto kEnough = std::chrono::seconds(20);

class Descendants : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(BecomeSubreaper()); }
  void TearDown() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }
};

TEST_F(Descendants, AreNoneWhereNothingRuns) {
  EXPECT_THAT(*ChildProcesses(), IsEmpty());
  EXPECT_TRUE(KillDescendants(Deadline::After(kEnough)));
}

TEST_F(Descendants, AreListedWhateverThreadStartedThem) {
  std::unique_ptr<Child> here = Started(Shell("exec sleep 1000"));
  std::vector<pid_t> children;
  std::thread([&] {
    const auto there = Started(Shell("exec sleep 1000"));
    children = *ChildProcesses();
    EXPECT_THAT(children, Contains(there->pid()));
  }).join();
  EXPECT_THAT(children, Contains(here->pid()));
}

TEST_F(Descendants, AreTheSameByScan) {
  const auto one = Started(Shell("exec sleep 1000"));
  const auto two = Started(Shell("exec sleep 1000"));
  EXPECT_THAT(ChildProcessesByScan(), testing::UnorderedElementsAre(one->pid(), two->pid()));
  EXPECT_THAT(*ChildProcesses(), testing::UnorderedElementsAre(one->pid(), two->pid()));
}

// setsid leaves group and session, the double fork leaves the parent: nothing but the subreaper finds it.
TEST_F(Descendants, ThatMadeThemselvesDaemonsAreKilled) {
  const auto child = Started(Shell("setsid sh -c 'setsid sleep 1000 & echo up >&2; exit 0' & wait"));
  const UniqueFd pipe = child->TakeStderr();
  ASSERT_TRUE(AwaitExit(*child));
  ASSERT_TRUE(child->Exited());
  ASSERT_TRUE(child->Signal(SIGKILL));
  ASSERT_TRUE(KillDescendants(Deadline::After(kEnough)));
  EXPECT_EQ(ReadAll(pipe.get()), "up\n");  // the end of file: no process holds the pipe
  EXPECT_THAT(*ChildProcesses(), testing::ElementsAre(child->pid()));
  EXPECT_TRUE(child->Exited()->ok());
  child->Reap();
}

TEST_F(Descendants, ThatNestAndIgnoreSignalsAreKilled) {
  const auto child =
      Started(Shell("trap '' TERM INT HUP; for i in 1 2 3; do "
                    "setsid sh -c \"trap '' TERM; sleep 1000 & setsid sleep 1000 & wait\" & done; "
                    "echo up >&2; kill -KILL $$"));
  const UniqueFd pipe = child->TakeStderr();
  ASSERT_TRUE(AwaitExit(*child));
  ASSERT_TRUE(child->Exited());
  ASSERT_TRUE(KillDescendants(Deadline::After(kEnough)));
  EXPECT_EQ(ReadAll(pipe.get()), "up\n");
  child->Reap();
  EXPECT_THAT(*ChildProcesses(), IsEmpty());
}

TEST_F(Descendants, ThatEndedAreReapedButNotTheChilds) {
  const auto child = Started(Shell("(sh -c 'exit 0' &) ; exit 4"));
  ASSERT_TRUE(AwaitExit(*child));
  // The orphan may still be on its way out: its parent's end made it ours.
  while (ChildProcesses()->size() > 1) ReapOrphans();
  EXPECT_THAT(*ChildProcesses(), testing::ElementsAre(child->pid()));
  EXPECT_EQ(Finish(*child).code, 4);
}

// A claimed zombie alone is no process to wait for; a process that cannot be killed is named. Stopped is not
// unkillable.
TEST_F(Descendants, ThatAreStoppedDieToo) {
  const auto child = Started(Shell("sh -c 'kill -STOP $$' & exit 0"));
  ASSERT_TRUE(AwaitExit(*child));
  ASSERT_TRUE(child->Exited());
  EXPECT_TRUE(KillDescendants(Deadline::After(kEnough)));
  child->Reap();
  EXPECT_THAT(*ChildProcesses(), IsEmpty());
}

// Does what is left of a test as another user, who may not kill the child that root has started. 0: as expected.
int KillBesideAForbiddenChild() {
  constexpr uid_t kOther = 65534;
  if (!BecomeSubreaper()) return 1;
  const pid_t forbidden = fork();
  if (forbidden == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pause();
    _exit(0);
  }
  if (setresuid(kOther, kOther, kOther) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) return 1;
  const auto child = Started(Shell("setsid sh -c 'sleep 1000 & echo up >&2; wait' & wait"));
  const UniqueFd pipe = child->TakeStderr();
  if (pollfd up{pipe.get(), POLLIN, 0}; poll(&up, 1, 20000) != 1) return 2;
  const Status killed = KillDescendants(Deadline::After(kEnough));
  if (killed || killed.error().message.find("cannot kill process " + std::to_string(forbidden)) != 0)
    return 3;
  // The end of file: no process holds the pipe.
  return ReadAll(pipe.get()) == "up\n" ? 0 : 4;
}

TEST(KillDescendants, GoesOnAfterOneThatMayNotBeKilled) {
  if (getuid() != 0) GTEST_SKIP() << "needs root, to start a process of another user";
  const pid_t tester = fork();
  if (tester == 0) _exit(KillBesideAForbiddenChild());
  int status = 0;
  ASSERT_EQ(waitpid(tester, &status, 0), tester);
  EXPECT_EQ(status, 0);
}

const std::string kGroup = "0123456789abcdef0123456789abcdef";

// `cat` on a pipe that stays open: lives until it is killed. Its environment is what exec gave it.
class Sleeper {
 public:
  Sleeper(const std::string& group, int rank) {
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    std::string group_variable = "MUSTER_GROUP=" + group;
    std::string rank_variable = "MUSTER_RANK=" + std::to_string(rank);
    std::array<int, 2> started{};
    EXPECT_EQ(pipe2(started.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends_[0], STDIN_FILENO);
      close(ends_[1]);
      std::array<char*, 3> environment = {group_variable.data(), rank_variable.data(), nullptr};
      std::string name = "cat";
      std::array<char*, 2> arguments = {name.data(), nullptr};
      execve("/bin/cat", arguments.data(), environment.data());
      _exit(127);
    }
    close(started[1]);
    char byte = 0;
    // The end of file comes with exec.
    EXPECT_EQ(read(started[0], &byte, 1), 0);
    close(started[0]);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  pid_t pid() const { return pid_; }
  // Ends it.
  void Close() {
    close(ends_[1]);
    close(ends_[0]);
  }
  // The signal that ended it; 0: it ended when its input did.
  int End() {
    Close();
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  std::array<int, 2> ends_{};
  pid_t pid_ = 0;
};

// A shell that starts muster by exec leaves it its children: copies of the output, monitors.
TEST_F(Descendants, ThatWereThereBeforeAreReapedButNotKilled) {
  Sleeper before(kGroup, 1);
  auto ended = Started(Shell("exit 0"));
  ASSERT_TRUE(AwaitExit(*ended));
  ASSERT_TRUE(BecomeSubreaper());
  const auto child = Started(Shell("sleep 1000 & echo up >&2; exit 0"));
  const UniqueFd pipe = child->TakeStderr();
  ASSERT_TRUE(AwaitExit(*child));
  ASSERT_TRUE(child->Exited());
  child->Reap();
  ASSERT_TRUE(KillDescendants(Deadline::After(kEnough)));
  EXPECT_EQ(ReadAll(pipe.get()), "up\n");
  EXPECT_THAT(*ChildProcesses(), testing::UnorderedElementsAre(before.pid(), ended->pid()));
  EXPECT_TRUE(Finish(*ended).ok());
  before.Close();
  while (!ChildProcesses()->empty()) ReapOrphans();
}

// Its number may come to mean a child of a program.
TEST_F(Descendants, ThatWereThereBeforeAreForgottenOnceTheyAreReaped) {
  Sleeper before(kGroup, 1);
  ASSERT_TRUE(BecomeSubreaper());
  std::vector<pid_t> killable = {before.pid()};
  DropSpared(killable);
  EXPECT_THAT(killable, IsEmpty());
  before.Close();
  while (!ChildProcesses()->empty()) ReapOrphans();
  killable = {before.pid()};
  DropSpared(killable);
  EXPECT_THAT(killable, testing::ElementsAre(before.pid()));
}

TEST(KillProcessesOfRank, KillsThoseOfThatRankAndGroupAlone) {
  Sleeper meant(kGroup, 3);
  Sleeper other_rank(kGroup, 33);
  Sleeper other_group("ffffffffffffffffffffffffffffffff", 3);
  KillProcessesOfRank(kGroup, 3);
  EXPECT_EQ(meant.End(), SIGKILL);
  EXPECT_EQ(other_rank.End(), 0);
  EXPECT_EQ(other_group.End(), 0);
}

}  // namespace
}  // namespace muster::process
