// Standard descriptors that are closed when muster starts.
#include <gtest/gtest.h>

#include <string>

#include "tests/bootstrap/cli/launched.h"
#include "tests/bootstrap/cli/run_muster.h"

namespace muster::cli {
namespace {

// `redirection`: "2>&-". A run that hangs ends with 124.
Outcome RunWith(const std::string& redirection, const std::string& words) {
  return RunMuster(words, "timeout 60 sh -c 'exec \"$@\" " + redirection + "' sh");
}

// More than a pipe holds: nothing is written there, and the programs go on.
TEST(ClosedStreams, OfStandardErrorNothingIsAwaited) {
  for (const std::string command : {"launch -n 2", "launch -n 2 --label", "run"}) {
    const Outcome outcome = RunWith("2>&-", command + " -- sh -c 'seq 1 30000 >&2; echo done'");
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(ClosedStreams, OfStandardInputIsAtItsEnd) {
  const Outcome outcome = RunWith("<&-", "launch -n 2 --stdin all -- sh -c 'cat; echo end'");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "end\nend\n");
}

// A program has the closed descriptor that it has without muster, and nothing of muster's.
TEST(ClosedStreams, AreClosedInTheProgram) {
  for (const std::string stream : {"0", "1"}) {
    const Outcome outcome = RunWith(stream + "<&-", "run -- sh -c '[ ! -L /proc/$$/fd/" + stream + " ]'");
    EXPECT_EQ(outcome.status, 0) << stream << outcome.err;
  }
}

TEST(ClosedStreams, AreNoneOfMustersOwn) {
  const std::string file = testing::TempDir() + "/standard_streams";
  const Outcome outcome =
      RunWith("<&- >&- 2>&-", "run -- sh -c 'cd /proc/$PPID/fd && readlink 0 1 2 >" + file + "'");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(ContentOf(file), "/dev/null\n/dev/null\n/dev/null\n");
}

TEST(ClosedStreams, OfStandardOutputIsAnErrorIfItIsWrittenTo) {
  const Outcome outcome = RunWith(">&-", "config");
  EXPECT_EQ(outcome.status, 71);
  EXPECT_EQ(outcome.err, "muster: error: cannot write standard output: Bad file descriptor\n");
}

}  // namespace
}  // namespace muster::cli
