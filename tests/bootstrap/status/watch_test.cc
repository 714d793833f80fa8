#include "bootstrap/status/watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "comm/base/unique_fd.h"

namespace muster::status {
namespace {

class WatchTest : public testing::Test {
 protected:
  // Its state is more than a pipe holds.
  WatchTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    reader = UniqueFd(ends[0]);
    const UniqueFd writer(ends[1]);
    watch = fork();
    if (watch != 0) return;
    reader.Reset();
    signal(SIGPIPE, SIG_IGN);
    dup2(writer.get(), STDOUT_FILENO);
    const auto status = Watch({std::chrono::hours(1), true, nullptr}, []() -> Result<WatchedState> {
      return WatchedState{std::string(1 << 20, 'x'), ""};
    });
    _exit(status ? *status : ExitStatus(status.error().code));
  }
  void SetUp() override {
    char begin = 0;
    ASSERT_EQ(read(reader.get(), &begin, 1), 1);
  }
  // As a shell shows it.
  int StatusOfWatch() const {
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, watch, 0)));
    pollfd ended{process.get(), POLLIN, 0};
    EXPECT_EQ(poll(&ended, 1, 20000), 1) << "it does not end";
    kill(watch, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(watch, &status, 0), watch);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  UniqueFd reader;
  pid_t watch = 0;
};

// As a pager that has stopped.
TEST_F(WatchTest, EndsBySigtermWhileItsOutputIsNotRead) {
  kill(watch, SIGTERM);
  EXPECT_EQ(StatusOfWatch(), 128 + SIGTERM);
}

TEST_F(WatchTest, EndsByCtrlCWhileItsOutputIsNotRead) {
  kill(watch, SIGINT);
  EXPECT_EQ(StatusOfWatch(), 0);
}

TEST_F(WatchTest, EndsInOrderWhenTheReaderHasEnded) {
  reader.Reset();
  EXPECT_EQ(StatusOfWatch(), 0);
}

}  // namespace
}  // namespace muster::status
