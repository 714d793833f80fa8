#include "bootstrap/process/signals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/bootstrap/process/finish_child.h"

namespace muster::process {
namespace {

std::vector<int> Pending(SignalRelay& relay) {
  std::vector<int> numbers;
  while (const auto event = relay.Next()) numbers.push_back(event->number);
  return numbers;
}

TEST(SignalRelay, TurnsSignalsIntoEvents) {
  const auto relay = SignalRelay::Start();
  ASSERT_TRUE(relay);
  EXPECT_EQ((*relay)->Next(), std::nullopt);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH}) {
    kill(getpid(), number);
    ASSERT_TRUE(WaitReadable((*relay)->fd()));
    const auto event = (*relay)->Next();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->number, number);
    EXPECT_EQ(event->sender, getpid());
    EXPECT_EQ(event->uid, getuid());
    EXPECT_FALSE(event->from_kernel);
  }
}

TEST(SignalRelay, NamesTheSender) {
  const auto relay = SignalRelay::Start();
  ASSERT_TRUE(relay);
  const auto child = Started(Shell("kill -USR1 $PPID"));
  ASSERT_TRUE(WaitReadable((*relay)->fd()));
  const auto event = (*relay)->Next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->number, SIGUSR1);
  EXPECT_EQ(event->sender, child->pid());
  Finish(*child);
}

TEST(SignalRelay, ReportsTheEndOfAChild) {
  const auto relay = SignalRelay::Start();
  ASSERT_TRUE(relay);
  const auto child = Started(Shell("exit 0"));
  ASSERT_TRUE(WaitReadable((*relay)->fd()));
  EXPECT_THAT(Pending(**relay), testing::ElementsAre(SIGCHLD));
  Finish(*child);
}

TEST(SignalRelay, LeavesIgnoredSignalsIgnored) {
  signal(SIGHUP, SIG_IGN);
  {
    const auto relay = SignalRelay::Start();
    ASSERT_TRUE(relay);
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGTERM);
    EXPECT_THAT(Pending(**relay), testing::ElementsAre(SIGTERM));
  }
  signal(SIGHUP, SIG_DFL);
}

// Ignored since before us (a parent that wants no zombies), it would take the program's end away from us.
TEST(SignalRelay, WantsToKnowOfChildrenThatWereIgnored) {
  signal(SIGCHLD, SIG_IGN);
  {
    const auto relay = SignalRelay::Start();
    ASSERT_TRUE(relay);
    const auto child = Started(Shell("exit 6"));
    EXPECT_EQ(Finish(*child).code, 6);
  }
  signal(SIGCHLD, SIG_DFL);
}

TEST(SignalRelay, RestoresWhatItChanged) {
  const auto is = [](int number, void (*handler)(int)) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    return action.sa_handler == handler;
  };
  {
    const auto relay = SignalRelay::Start();
    ASSERT_TRUE(relay);
    for (const int number : {SIGPIPE, SIGXFSZ}) EXPECT_TRUE(is(number, SIG_IGN)) << number;
  }
  for (const int number : {SIGPIPE, SIGXFSZ}) EXPECT_TRUE(is(number, SIG_DFL)) << number;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
}

TEST(SignalRelay, CanLeaveSignalsBlockedForTheEnd) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    const auto relay = SignalRelay::Start();
    ASSERT_TRUE(relay);
    (*relay)->KeepBlocked();
  }
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, &before, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 1);
}

// As by default: a shell continues it. A process without one above it could not be continued, and goes on.
TEST(SignalRelay, StopsAsTheSignalItTookWould) {
  for (const bool orphaned : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      orphaned ? static_cast<void>(setsid()) : static_cast<void>(setpgid(0, 0));
      const auto relay = SignalRelay::Start(SignalRelay::Tstp::kTaken);
      raise(SIGTSTP);
      if ((*relay)->Next()->number != SIGTSTP) _exit(1);
      if ((*relay)->Stop() == orphaned) _exit(2);
      const auto next = (*relay)->Next();
      _exit(next.has_value() == orphaned || (next && next->number != SIGCONT) ? 3 : 0);
    }
    int status = 0;
    if (!orphaned) {
      ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
      EXPECT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
      kill(child, SIGCONT);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << orphaned;
  }
}

}  // namespace
}  // namespace muster::process
