// Which ranks have the standard input of muster (run.stdin).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/bootstrap/cli/launched.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;

class Stdin : public testing::Test {
 protected:
  static std::string MakeInput() {
    std::string path = testing::TempDir() + "/stdin_test.input";
    std::ofstream file(path);
    for (int i = 0; i < 200000; ++i) file << i << "\n";
    return path;
  }

  // The sum that `md5sum` prints of each rank's standard input, in the order of the ranks.
  std::vector<std::string> Sums(std::vector<std::string> how, int ranks, const std::string& from) {
    how.insert(how.end(), {"--", "sh", "-c", "md5sum >@/sum.$RANK"});
    Launched muster(how, from);
    EXPECT_EQ(muster.Wait(), 0) << muster.Err();
    std::vector<std::string> sums;
    for (int rank = 0; rank < ranks; ++rank) {
      sums.push_back(ContentOf(muster.File("sum." + std::to_string(rank))));
    }
    return sums;
  }

  const std::string input = MakeInput();
  const std::string nothing = Sums({"run"}, 1, "/dev/null").front();
  const std::string all = Sums({"run"}, 1, input).front();
};

TEST_F(Stdin, OfSeveralRanksRankZeroHasIt) {
  ASSERT_NE(all, nothing);
  for (const auto& how : {std::vector<std::string>{"launch", "-n", "3"},
                          {"run", "--nproc-per-node", "3"},
                          {"launch", "-n", "3", "--stdin", "rank0"},
                          {"launch", "-n", "3", "--set", "run.stdin=auto"}}) {
    EXPECT_EQ(Sums(how, 3, input), (std::vector{all, nothing, nothing})) << how.back();
  }
}

TEST_F(Stdin, AllHaveACopyEach) {
  EXPECT_EQ(Sums({"launch", "-n", "4", "--stdin", "all"}, 4, input), (std::vector{all, all, all, all}));
  EXPECT_EQ(Sums({"launch", "-n", "1", "--stdin", "all"}, 1, input), (std::vector{all}));
  EXPECT_EQ(Sums({"launch", "-n", "2", "--stdin", "all"}, 2, "/dev/null"), (std::vector{nothing, nothing}));
}

TEST_F(Stdin, OrNone) {
  EXPECT_EQ(Sums({"launch", "-n", "2", "--stdin", "none"}, 2, input), (std::vector{nothing, nothing}));
  EXPECT_EQ(Sums({"run", "--stdin", "none"}, 1, input), (std::vector{nothing}));
}

// A rank that ends without reading does not hold up the others.
TEST_F(Stdin, ARankThatEndsIsNotWaitedFor) {
  Launched muster({"launch", "-n", "2", "--stdin", "all", "--", "sh", "-c",
                   "[ $RANK = 0 ] || exit 0; md5sum >@/sum.$RANK"},
                  input);
  EXPECT_EQ(muster.Wait(), 0) << muster.Err();
  EXPECT_EQ(ContentOf(muster.File("sum.0")), all);
}

TEST_F(Stdin, AnUnknownWordIsRefused) {
  Launched muster({"launch", "-n", "2", "--stdin", "rank1", "--", "true"});
  EXPECT_EQ(muster.Wait(), 64);
  EXPECT_THAT(muster.Err(), HasSubstr("--stdin is rank0 or all or none or auto, not \"rank1\""));
}

// A program that uses /dev/tty has a process group of its own in the background.
class Terminal : public testing::Test {
 protected:
  ~Terminal() override { close(terminal_); }

  // Rank 1 runs `uses`, and is stopped each time. The log up to the end. `interrupted`: SIGCONT ends the call.
  std::string LogOfStopped(const std::string& uses, bool interrupted) {
    Launched muster({"launch", "-n", "2", "--set", "run.grace=200ms", "--", "sh", "-c",
                     "echo $$ >@/pid.$RANK; [ $RANK = 1 ] || exec sleep 300; "
                     "trap ': >@/again' CONT; until " +
                         uses + "; do :; done; exec sleep 300"},
                    "/dev/null", -1, -1, ptsname(terminal_));
    EXPECT_TRUE(muster.Says(": process ")) << muster.Err();
    stopped_ = std::stoi(ContentOf(muster.File("pid.1")));
    kill(stopped_, SIGCONT);
    EXPECT_TRUE(!interrupted || muster.Appear({"again"}));
    muster.Send(SIGTERM);
    EXPECT_EQ(muster.Wait(), 143);
    return muster.Err();
  }
  // "rank 1 on gpu01: process 4711 is stopped by ..." is there once.
  void ExpectOnce(const std::string& log, const std::string& by) const {
    const std::string line = ": process " + std::to_string(stopped_) + " is stopped by " + by;
    EXPECT_THAT(log, testing::ContainsRegex("rank 1 on [^ ]+" + line));
    EXPECT_EQ(log.find(line, log.find(line) + 1), std::string::npos) << log;
  }

  const int terminal_ = [] {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    return terminal;
  }();
  pid_t stopped_ = -1;
};

// Here for a password.
TEST_F(Terminal, AProgramThatIsStoppedBecauseItReadsFromItIsNamedOnce) {
  const std::string log = LogOfStopped("read -r password </dev/tty", true);
  ExpectOnce(log, "SIGTTIN: it reads from the terminal, and is not in its foreground ");
}

TEST_F(Terminal, AProgramThatIsStoppedBecauseItWritesToItIsNamedOnce) {
  termios settings{};
  ASSERT_EQ(tcgetattr(terminal_, &settings), 0);
  settings.c_lflag |= TOSTOP;
  ASSERT_EQ(tcsetattr(terminal_, TCSANOW, &settings), 0);
  const std::string log = LogOfStopped("echo >/dev/tty && false", false);
  ExpectOnce(log, "SIGTTOU: it writes to, or sets, the terminal, and is not in its foreground ");
  EXPECT_THAT(log, HasSubstr("(run stty -tostop, or redirect the output of that program)"));
}

}  // namespace
}  // namespace muster::cli
