#include "tests/old_kernel/call_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
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
// With arguments that a kernel with the call refuses for another reason, without any effect.
int Call(long number) { return ErrorOf(syscall(number, -1L, 0L, 0L, 0L, 0L, 0L)); }
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

// Every newer call that muster, the C library or Python uses.
TEST(CallFilter, AnswersAsAnOldKernelOrAsAContainerThatForbids) {
  struct Row {
    const char* name;
    long number;
    int forbidden;
  };
  for (const Row& row : {
           Row{"pidfd_open", SYS_pidfd_open, EPERM},
           Row{"pidfd_send_signal", SYS_pidfd_send_signal, EPERM},
           Row{"close_range", SYS_close_range, EPERM},
           Row{"memfd_create", SYS_memfd_create, EPERM},
           Row{"openat2", SYS_openat2, EPERM},
           Row{"epoll_pwait2", SYS_epoll_pwait2, EPERM},
           Row{"process_vm_readv", SYS_process_vm_readv, EPERM},
           Row{"faccessat2", SYS_faccessat2, EPERM},
           // The C library does not survive EPERM (NeverForbidden).
           Row{"clone3", SYS_clone3, ENOSYS},
           Row{"statx", SYS_statx, ENOSYS},
       }) {
    const auto call = [&row] { return Call(row.number); };
    EXPECT_EQ(UnderFilter(Missing::kUnknown, call), ENOSYS) << row.name;
    EXPECT_EQ(UnderFilter(Missing::kForbidden, call), row.forbidden) << row.name;
  }
  for (const Missing missing : {Missing::kUnknown, Missing::kForbidden})
    EXPECT_EQ(UnderFilter(missing, WaitForPidfd), EINVAL);
}

// The root directory of a container.
TEST(CallFilter, OfAContainerHasNoFilesThatNeverHadAName) {
  const auto unnamed = [] { return ErrorOf(open("/dev/shm", O_TMPFILE | O_RDWR, 0600)); };
  EXPECT_EQ(UnderFilter(Missing::kForbidden, unnamed), EOPNOTSUPP);
  EXPECT_EQ(UnderFilter(Missing::kUnknown, unnamed), 0);
}

TEST(CallFilter, LeavesTheRest) {
  for (const Missing missing : {Missing::kUnknown, Missing::kForbidden}) {
    EXPECT_EQ(UnderFilter(missing, StartThread), 0);
    EXPECT_EQ(UnderFilter(missing, WaitForAnyChild), ECHILD);
    EXPECT_EQ(UnderFilter(missing, [] { return ErrorOf(open("/", O_DIRECTORY | O_RDONLY)); }), 0);
  }
}

}  // namespace
}  // namespace muster
