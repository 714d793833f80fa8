// The limit on open files, which muster raises for itself.
#include <gtest/gtest.h>

#include <string>

#include "tests/bootstrap/cli/run_muster.h"

namespace muster::cli {
namespace {

// Pipes and files of 60 ranks need some 300; and this process does not serve the store, for which the limit was raised
// before.
TEST(Limits, OnOpenFilesIsTheHardOneForMusterAndTheOldOneForPrograms) {
  const std::string directory = testing::TempDir() + "/limits";
  const Outcome outcome = RunMuster("launch -n 60 --set run.store=program --log-dir " + directory +
                                        " -- sh -c 'ulimit -Sn; ulimit -Hn >&2'",
                                    "sh -c 'ulimit -Sn 128; exec \"$@\"' sh");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Outcome hard = RunMuster("run -- sh -c 'ulimit -Hn'");
  ASSERT_EQ(hard.status, 0) << hard.err;
  std::string soft_lines;
  std::string hard_lines;
  for (int rank = 0; rank < 60; ++rank) {
    soft_lines += "128\n";
    hard_lines += hard.out;
  }
  EXPECT_EQ(outcome.out, soft_lines);
  EXPECT_EQ(outcome.err, hard_lines);
}

// The files of run.log_dir come first to the limit, or the pipes.
TEST(Limits, OnOpenFilesAreNamedWithTheNumberThatIsNeeded) {
  for (const std::string limit : {"14", "16", "20"}) {
    const Outcome outcome = RunMuster("launch -n 4 --log-dir " + testing::TempDir() + "/low -- true",
                                      "MUSTER_LOG_TIME=none sh -c 'ulimit -n " + limit + "; exec \"$@\"' sh");
    EXPECT_EQ(outcome.status, 71);
    EXPECT_TRUE(outcome.err.starts_with(
        "muster: error: the output of 4 ranks needs 64 open files, but the hard limit is " + limit +
        " (ulimit -Hn) (raise it: LimitNOFILE of slurmd's unit, or /etc/security/limits.conf)\n"))
        << outcome.err;
  }
}

}  // namespace
}  // namespace muster::cli
