#include "comm/system/pipe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tests/comm/base/print_error.h"

namespace muster {
namespace {

TEST(Pipe, CarriesBytesAndIsClosedByExec) {
  const auto pipe = MakePipe();
  ASSERT_TRUE(pipe);
  ASSERT_EQ(write(pipe->write_end.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(pipe->read_end.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  for (const int fd : {pipe->read_end.get(), pipe->write_end.get()})
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

TEST(Pipe, LeavesTheStandardDescriptorsFree) {
  const UniqueFd input(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  close(STDIN_FILENO);
  {
    const auto pipe = MakePipe();
    ASSERT_TRUE(pipe);
    EXPECT_GT(pipe->read_end.get(), STDERR_FILENO);
    EXPECT_GT(pipe->write_end.get(), STDERR_FILENO);
    EXPECT_EQ(fcntl(STDIN_FILENO, F_GETFD), -1);
  }
  if (input) dup2(input.get(), STDIN_FILENO);
}

// In a process of its own: the hard limit cannot be raised again. The limits must leave no descriptor free.
bool FailsWithHint(const rlimit& limit, const std::string& hint) {
  const pid_t child = fork();
  if (child == 0) {
    // UBSan checks the types in a message once, with a pipe of its own.
    static_cast<void>(Fail(Code::kSystem, "cannot make a pipe: {}", ErrnoText(EMFILE)));
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(1);
    const auto pipe = MakePipe();
    _exit(!pipe && pipe.error() == Error{Code::kSystem, "cannot make a pipe: Too many open files", hint} ? 0
                                                                                                         : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

TEST(Pipe, NamesTheLimitOnOpenFiles) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  constexpr rlim_t kNone = STDERR_FILENO + 1;
  EXPECT_TRUE(FailsWithHint({kNone, before.rlim_max}, "raise the limit on open files: ulimit -Sn"));
  EXPECT_TRUE(FailsWithHint({kNone, kNone}, "raise the limit on open files: ulimit -Hn"));
}

TEST(AboveStandard, IsTheSameDescriptorIfItIsAbove) {
  UniqueFd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = fd.get();
  EXPECT_EQ(AboveStandard(std::move(fd)).get(), number);
  EXPECT_FALSE(AboveStandard(UniqueFd()));
}

}  // namespace
}  // namespace muster
