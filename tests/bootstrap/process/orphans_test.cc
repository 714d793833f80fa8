#include "bootstrap/process/orphans.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

namespace muster::process {
namespace {

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
  // The signal that ended it; 0: it ended when its input did.
  int End() {
    close(ends_[1]);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    close(ends_[0]);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  std::array<int, 2> ends_{};
  pid_t pid_ = 0;
};

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
