// How `muster launch` and `muster run` end when a signal asks them to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <thread>
#include <utility>

#include "tests/bootstrap/cli/launched.h"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto kShortGrace = "run.grace=200ms";
constexpr auto kNoGraceEnds = "run.grace=1h";

// Until it is killed, unless the test has failed long ago.
const std::string kIgnores = R"(trap '' INT TERM HUP; : >@/ready.$RANK; exec sleep 300)";
const std::string kOnQuit = R"(trap ': >@/heard.$RANK' QUIT; : >@/ready.$RANK
  until [ -e @/go ]; do sleep 0.05; done; [ "$RANK" != 1 ] || exit 7)";

TEST(Ending, ProgramsThatIgnoreASignalAreTerminatedThenKilled) {
  for (const auto& [number, name] : {std::pair(SIGINT, "SIGINT"), {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}}) {
    Launched muster({"launch", "-n", "2", "--set", kShortGrace, "--", "sh", "-c", kIgnores});
    ASSERT_TRUE(muster.Appear({"ready.0", "ready.1"})) << muster.Err();
    muster.Send(number);
    EXPECT_EQ(muster.Wait(), 128 + number) << name;
    const std::string said = muster.Err();
    EXPECT_THAT(said,
                HasSubstr("waiting for ranks 0,1 to exit; no exit within run.grace (200ms): SIGKILL sent\n"));
    if (number == SIGTERM) {
      EXPECT_THAT(said, Not(HasSubstr("SIGTERM sent"))) << "it was passed on already";
    } else {
      EXPECT_THAT(
          said, HasSubstr("waiting for ranks 0,1 to exit; no exit within run.grace (200ms): SIGTERM sent\n"));
    }
    EXPECT_THAT(
        said, HasSubstr(std::string(number == SIGINT ? "interrupted" : "terminated") + " (" + name + ")\n"));
  }
}

TEST(Ending, FurtherInterruptsDoNotWait) {
  Launched muster({"launch", "-n", "2", "--set", kNoGraceEnds, "--", "sh", "-c", kIgnores});
  ASSERT_TRUE(muster.Appear({"ready.0", "ready.1"})) << muster.Err();
  muster.Send(SIGINT);
  muster.Send(SIGINT);
  EXPECT_TRUE(muster.Says("waiting for ranks 0,1 to exit; SIGINT again: SIGTERM sent\n")) << muster.Err();
  muster.Send(SIGINT);
  EXPECT_EQ(muster.Wait(), 130);
  EXPECT_THAT(muster.Err(), HasSubstr("waiting for ranks 0,1 to exit; SIGINT again: SIGKILL sent\n"));
}

TEST(Ending, AWorldOfOneWithoutALauncherIsEndedAsWell) {
  Launched muster({"run", "--set", kShortGrace, "--", "sh", "-c", kIgnores});
  ASSERT_TRUE(muster.Appear({"ready.0"})) << muster.Err();
  muster.Send(SIGINT);
  EXPECT_EQ(muster.Wait(), 130);
  EXPECT_THAT(muster.Err(), HasSubstr("interrupted (SIGINT)\n"));
}

TEST(Ending, AProgramThatEndsInTimeKeepsItsStatus) {
  Launched muster({"launch", "-n", "2", "--set", kNoGraceEnds, "--", "sh", "-c",
                   "trap 'exit 0' TERM; : >@/ready.$RANK; while :; do sleep 0.05; done"});
  ASSERT_TRUE(muster.Appear({"ready.0", "ready.1"})) << muster.Err();
  muster.Send(SIGTERM);
  EXPECT_EQ(muster.Wait(), 0);
  EXPECT_THAT(muster.Err(), Not(HasSubstr("muster: ")));
}

// A thread dump is no request to end: nothing is killed, and a later failure is one like any other.
TEST(Ending, AProgramThatOutlivesAQuitFailsByItself) {
  Launched muster(
      {"launch", "-n", "2", "--max-restarts", "1", "--set", kShortGrace, "--", "sh", "-c", kOnQuit});
  ASSERT_TRUE(muster.Appear({"ready.0", "ready.1"})) << muster.Err();
  muster.Send(SIGQUIT);
  ASSERT_TRUE(muster.Appear({"heard.0", "heard.1"})) << muster.Err();
  std::this_thread::sleep_for(std::chrono::seconds(1));  // five times run.grace
  std::ofstream(muster.File("go")) << "";
  EXPECT_EQ(muster.Wait(), 7);
  const std::string said = muster.Err();
  EXPECT_THAT(said, Not(HasSubstr("waiting for ")));
  EXPECT_THAT(said, HasSubstr("rank 1 on "));
  EXPECT_THAT(said, HasSubstr(" failed: exit 7\n"));
  EXPECT_THAT(said, HasSubstr("the run failed after "));
  EXPECT_THAT(said, HasSubstr("starting again: restart 1 of 1\n"));
}

}  // namespace
}  // namespace muster
