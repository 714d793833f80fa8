#include "comm/system/fork_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "comm/net/frame_stream.h"
#include "tests/comm/net/test_loop.h"

namespace muster::net {
namespace {

int InForkedChild(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool IsNowhere(int fd) {
  char path[32] = {};
  return readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path, sizeof path - 1) > 0 &&
         std::string(path) == "/dev/null" && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

TEST(ForkGuard, AChildDoesNotHaveWhatIsGuarded) {
  const auto [one, other] = SocketPair();
  const UniqueFd& guarded = one;
  const UniqueFd& free = other;
  CloseInForkedChildren(guarded.get());
  EXPECT_EQ(InForkedChild([&] { return IsNowhere(guarded.get()) && !IsNowhere(free.get()) ? 0 : 1; }), 0);
  EXPECT_FALSE(IsNowhere(guarded.get()));
  ForgetForForks(guarded.get());
  EXPECT_EQ(InForkedChild([&] { return IsNowhere(guarded.get()) ? 1 : 0; }), 0);
}

TEST(ForkGuard, AChildIsOneDeeper) {
  const int depth = ForkDepth();
  EXPECT_EQ(InForkedChild([&] {
              return ForkDepth() == depth + 1 && InForkedChild([&] { return ForkDepth() - depth; }) == 2 ? 0
                                                                                                         : 1;
            }),
            0);
  EXPECT_EQ(ForkDepth(), depth);
}

// A worker that lives on does not keep a connection of its parent open.
TEST(ForkGuard, TheEndOfAStreamIsSeenThoughAWorkerLives) {
  TestLoop loop;
  auto [near, far] = SocketPair();
  auto stream = std::make_unique<FrameStream>(*loop, std::move(near), 100);
  FrameStream peer(*loop, std::move(far), 100);
  bool closed = false;
  peer.Start([](ByteView) {}, [&](const Error&) { closed = true; });
  const pid_t worker = fork();
  if (worker == 0) {
    for (;;) pause();
  }
  stream.reset();
  EXPECT_TRUE(loop.Until([&] { return closed; }));
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
}

}  // namespace
}  // namespace muster::net
