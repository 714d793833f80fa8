// run.expect: a program that exits with 0 but has not written its results is a failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/bootstrap/cli/launched.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// How `muster WORDS...` of a shell script ends.
struct Ended {
  Ended(std::vector<std::string> words, const std::string& script) : Ended(Made(std::move(words), script)) {}
  explicit Ended(std::unique_ptr<Launched> muster)
      : status(muster->Wait()), said(muster->Err()), report(ContentOf(muster->File("report"))) {}

  static std::unique_ptr<Launched> Made(std::vector<std::string> words, const std::string& script) {
    words.insert(words.end(), {"--", "sh", "-c", script});
    return std::make_unique<Launched>(words);
  }

  int status;
  std::string said;
  std::string report;
};

TEST(Expect, WhatIsThereIsFine) {
  const Ended ended(
      {"launch", "-n", "3", "--expect", "@/scores", "--expect", "@/rank-${rank}", "--expect", "@/l*g"},
      "echo 1 >@/rank-$RANK; [ $RANK = 0 ] || exit 0; echo 1 >@/scores; echo 1 >@/log");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_EQ(ended.said, "");
}

TEST(Expect, WhatIsMissingIsNamedAndEndsWith79) {
  for (const char* how : {"launch", "run"}) {
    const Ended ended({how, "--nproc-per-node", "2", "--expect", "@/scores", "--report", "@/report"}, "true");
    EXPECT_EQ(ended.status, 79) << how;
    EXPECT_THAT(ended.said, HasSubstr("error: all programs exited with 0, but run.expect is not met: "))
        << how;
    EXPECT_THAT(ended.said, HasSubstr("/scores does not exist (look for an error in their output)\n")) << how;
    EXPECT_THAT(ended.said, HasSubstr("ended with 0: ranks 0,1\n")) << how;
    EXPECT_THAT(ended.report, HasSubstr("\"exit_status\": 79")) << how;
    EXPECT_THAT(ended.report, HasSubstr("/scores does not exist")) << how;
  }
}

TEST(Expect, InAWorldOfOneAsWell) {
  EXPECT_EQ(Ended({"run", "--expect", "@/scores"}, "true").status, 79);
  EXPECT_EQ(Ended({"run", "--expect", "@/scores"}, "echo 1 >@/scores").status, 0);
  EXPECT_EQ(Ended({"run", "--expect", "@/scores"}, "exit 5").status, 5);
}

TEST(Expect, AProgramsOwnFailureComesFirst) {
  const Ended ended({"launch", "-n", "2", "--expect", "@/scores"}, "[ $RANK = 0 ] || exit 5");
  EXPECT_EQ(ended.status, 5);
  EXPECT_THAT(ended.said, Not(HasSubstr("run.expect")));
}

TEST(Expect, AMissingFileOfOneRankIsNamed) {
  const Ended ended({"launch", "-n", "3", "--expect", "@/rank-${rank}"},
                    "[ $RANK = 1 ] || echo 1 >@/rank-$RANK");
  EXPECT_EQ(ended.status, 79);
  EXPECT_THAT(ended.said, HasSubstr("/rank-1 does not exist ("));
}

// The files of the first try count for the second, which finds its work done.
TEST(Expect, AGroupStartsAgainUntilTheFilesAreThere) {
  const Ended ended({"launch", "-n", "2", "--max-restarts", "1", "--expect", "@/rank-${rank}"},
                    "if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then [ $RANK = 1 ] || echo 1 >@/rank-$RANK; "
                    "else [ $RANK = 0 ] || echo 1 >@/rank-$RANK; fi");
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_THAT(ended.said, HasSubstr("starting again: restart 1 of 1\n"));
}

TEST(Expect, WhatWasThereBeforeDoesNotCount) {
  const std::string path = testing::TempDir() + "/expect_test.old";
  std::ofstream(path) << "old";
  const Ended ended({"launch", "-n", "2", "--expect", path}, "true");
  EXPECT_EQ(ended.status, 79);
  EXPECT_THAT(ended.said, HasSubstr("expect_test.old was not written by this run ("));
}

}  // namespace
}  // namespace muster::cli
