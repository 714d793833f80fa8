#include "comm/net/process_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <optional>

#include "tests/comm/net/test_loop.h"

namespace muster::net {
namespace {

class ProcessWatchTest : public testing::Test {
 protected:
  void SetUp() override { pid = Waiting(); }
  void TearDown() override {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  // A process that lives until it is killed.
  static pid_t Waiting() {
    const pid_t waiting = fork();
    if (waiting == 0) {
      pause();
      _exit(0);
    }
    return waiting;
  }

  TestLoop loop;
  pid_t pid = -1;
  int ended = 0;
};

TEST_F(ProcessWatchTest, SaysOnceThatItHasEnded) {
  const ProcessWatch watch(*loop, pid, [this] { ++ended; });
  loop.For(std::chrono::milliseconds(300));
  EXPECT_EQ(ended, 0);
  kill(pid, SIGKILL);
  ASSERT_TRUE(loop.Until([this] { return ended > 0; }));
  loop.For(std::chrono::milliseconds(300));
  EXPECT_EQ(ended, 1);
}

TEST_F(ProcessWatchTest, SaysItOfOneThatIsGone) {
  kill(pid, SIGKILL);
  const pid_t gone = pid;
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  pid = Waiting();
  const ProcessWatch watch(*loop, gone, [this] { ++ended; });
  EXPECT_EQ(ended, 0) << "not from the constructor";
  ASSERT_TRUE(loop.Until([this] { return ended > 0; }));
}

TEST_F(ProcessWatchTest, MayBeDestroyedByItsOwnEvent) {
  std::optional<ProcessWatch> watch;
  watch.emplace(*loop, pid, [&] {
    watch.reset();
    ++ended;
  });
  kill(pid, SIGKILL);
  ASSERT_TRUE(loop.Until([this] { return ended > 0; }));
}

TEST_F(ProcessWatchTest, SaysNothingAfterItIsDestroyed) {
  {
    const ProcessWatch watch(*loop, pid, [this] { ++ended; });
  }
  kill(pid, SIGKILL);
  loop.For(std::chrono::milliseconds(300));
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace muster::net
