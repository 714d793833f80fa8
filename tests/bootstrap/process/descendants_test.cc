#include "bootstrap/process/descendants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

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
  EXPECT_EQ(ReadAll(pipe.get()), "up\n");  // the end of file: nobody holds the pipe any more
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

// A claimed zombie alone is nobody to wait for; a process that cannot be killed is named. Stopped is not
// unkillable.
TEST_F(Descendants, ThatAreStoppedDieToo) {
  const auto child = Started(Shell("sh -c 'kill -STOP $$' & exit 0"));
  ASSERT_TRUE(AwaitExit(*child));
  ASSERT_TRUE(child->Exited());
  EXPECT_TRUE(KillDescendants(Deadline::After(kEnough)));
  child->Reap();
  EXPECT_THAT(*ChildProcesses(), IsEmpty());
}

}  // namespace
}  // namespace muster::process
