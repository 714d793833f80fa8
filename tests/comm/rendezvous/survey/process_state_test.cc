#include "comm/rendezvous/survey/process_state.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::rendezvous {
namespace {

// Field 22 of proc(5) is 500 ticks, 14 and 15 are 120 and 30.
constexpr std::string_view kStat =
    "4711 (a (strange) name) S 1 4711 4711 0 -1 4194560 95 0 0 0 120 30 0 0 20 0 1 0 500 2703360 240\n";

TEST(ParseProcessStat, ReadsAgeAndProcessorTime) {
  const auto state = ParseProcessStat(kStat, 100, 36.0);
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, (ProcessState{4711, 'S', 31000, 1500, ""}));
}

TEST(ParseProcessStat, RefusesAnythingElse) {
  EXPECT_FALSE(ParseProcessStat("", 100, 1));
  EXPECT_FALSE(ParseProcessStat("4711 (x)", 100, 1));
  EXPECT_FALSE(ParseProcessStat("4711 (x) S 1 2 3", 100, 1));
  EXPECT_FALSE(ParseProcessStat(kStat, 0, 1));
}

TEST(LookAtProcess, SeesThatAProcessIsStopped) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  const auto stopped = LookAtProcess(child);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->pid, child);
  EXPECT_EQ(stopped->state, 'T');
  EXPECT_TRUE(IsStopped(*stopped));
  EXPECT_FALSE(LookAtProcess(child));
}

TEST(IsStopped, ByASignalADebuggerOrAFreezer) {
  EXPECT_TRUE(IsStopped({1, 't', 0, 0, ""}));
  EXPECT_TRUE(IsStopped({1, 'S', 0, 0, "do_freezer_trap"}));
  EXPECT_TRUE(IsStopped({1, 'D', 0, 0, "__refrigerator"}));
  EXPECT_FALSE(IsStopped({1, 'S', 0, 0, "ep_poll"}));
}

}  // namespace
}  // namespace muster::rendezvous
