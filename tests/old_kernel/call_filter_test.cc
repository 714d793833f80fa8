#include "tests/old_kernel/call_filter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

namespace muster {
namespace {

// The filter stays for ever, so each question runs in a child; its exit status is the answer.
int UnderFilter(Missing missing, const std::function<int()>& ask) {
  const pid_t pid = fork();
  if (pid == 0) {
    const int error = RemoveNewCalls(missing);
    _exit(error == 0 ? ask() : 200);
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int ErrorOf(long result) { return result < 0 ? errno : 0; }
int OpenPidfd() { return ErrorOf(syscall(SYS_pidfd_open, getpid(), 0)); }
int CreateMemory() { return ErrorOf(memfd_create("test", 0)); }
int StatX() { return ErrorOf(syscall(SYS_statx, -1, "", 0, 0, nullptr)); }
int WaitForPidfd() {
  siginfo_t info{};
  return ErrorOf(waitid(static_cast<idtype_t>(3), 0, &info, WEXITED | WNOHANG));
}
int WaitForAnyChild() {
  siginfo_t info{};
  return ErrorOf(waitid(P_ALL, 0, &info, WEXITED | WNOHANG));
}
int StartThread() {
  std::thread([] {}).join();
  return 0;
}

TEST(CallFilter, AnswersAsAnOldKernel) {
  EXPECT_EQ(UnderFilter(Missing::kUnknown, OpenPidfd), ENOSYS);
  EXPECT_EQ(UnderFilter(Missing::kUnknown, CreateMemory), ENOSYS);
  EXPECT_EQ(UnderFilter(Missing::kUnknown, StatX), ENOSYS);
  EXPECT_EQ(UnderFilter(Missing::kUnknown, WaitForPidfd), EINVAL);
}

TEST(CallFilter, AnswersAsAContainerThatForbids) {
  EXPECT_EQ(UnderFilter(Missing::kForbidden, OpenPidfd), EPERM);
  EXPECT_EQ(UnderFilter(Missing::kForbidden, CreateMemory), EPERM);
  EXPECT_EQ(UnderFilter(Missing::kForbidden, StatX), ENOSYS);
  EXPECT_EQ(UnderFilter(Missing::kForbidden, WaitForPidfd), EINVAL);
}

TEST(CallFilter, LeavesTheRest) {
  for (const Missing missing : {Missing::kUnknown, Missing::kForbidden}) {
    EXPECT_EQ(UnderFilter(missing, StartThread), 0);
    EXPECT_EQ(UnderFilter(missing, WaitForAnyChild), ECHILD);
  }
}

}  // namespace
}  // namespace muster
