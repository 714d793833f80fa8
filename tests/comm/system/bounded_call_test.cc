#include "comm/system/bounded_call.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <thread>

#include "comm/base/unique_fd.h"
#include "comm/system/start_thread.h"

namespace muster::nccl {
namespace {

const Error kLate{Code::kDeadline, "the driver does not answer", "restart it"};

TEST(RunWithin, WaitsForTheCall) {
  const auto ran = std::make_shared<bool>(false);
  EXPECT_TRUE(RunWithin(Deadline::After(std::chrono::minutes(1)), kLate, [ran] { *ran = true; }));
  EXPECT_TRUE(*ran);
  EXPECT_TRUE(RunWithin(Deadline::Never(), kLate, [] {}));
}

TEST(RunAnywhereWithin, NeedsNoThread) {
  rlimit before{};
  getrlimit(RLIMIT_NPROC, &before);
  bool ran = false;
  std::thread([&] {
    constexpr uid_t kNoOwner = 65534;
    if (geteuid() == 0) syscall(SYS_setresuid, kNoOwner, kNoOwner, kNoOwner);  // of this thread alone
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
    const Status refused = RunWithin(Deadline::Never(), kLate, [] { FAIL() << "without a thread"; });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kSystem);
    EXPECT_EQ(refused.error().message, "cannot start a thread: Resource temporarily unavailable");
    EXPECT_EQ(refused.error().hint, ProcessLimitHint());
    EXPECT_TRUE(RunAnywhereWithin(Deadline::Never(), [&] { ran = true; }));
  }).join();
  setrlimit(RLIMIT_NPROC, &before);
  EXPECT_TRUE(ran);
}

TEST(RunWithin, LeavesBehindWhatHangsWhenItIsStopped) {
  std::promise<void> release;
  const auto hang = [released = release.get_future().share()] { released.wait(); };
  const UniqueFd stop(eventfd(1, EFD_CLOEXEC));
  EXPECT_EQ(RunWithin(Deadline::Never(), kLate, hang, stop.get()).error(), kLate);
  release.set_value();
}

TEST(RunWithin, LeavesBehindWhatHangs) {
  std::promise<void> release;
  std::promise<void> ended;
  const auto hang = [released = release.get_future().share(),
                     done = std::make_shared<std::promise<void>>(std::move(ended))] {
    released.wait();
    done->set_value();
  };
  const Status left = RunWithin(Deadline::After(std::chrono::milliseconds(20)), kLate, hang);
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error(), kLate);
  release.set_value();
}

TEST(RunWithin, ItsThreadIsNotForSignals) {
  const auto blocked = std::make_shared<sigset_t>();
  ASSERT_TRUE(RunWithin(Deadline::After(std::chrono::minutes(1)), kLate,
                        [blocked] { pthread_sigmask(SIG_SETMASK, nullptr, blocked.get()); }));
  EXPECT_EQ(sigismember(blocked.get(), SIGTERM), 1);
  EXPECT_EQ(sigismember(blocked.get(), SIGCHLD), 1);
  sigset_t ours;
  pthread_sigmask(SIG_SETMASK, nullptr, &ours);
  EXPECT_EQ(sigismember(&ours, SIGTERM), 0);
}

// An abort must come about there as well.
TEST(RunWithin, NeedsNoDescriptor) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto ran = std::make_shared<bool>(false);
  std::promise<void> release;
  const Status came_back = RunWithin(Deadline::After(std::chrono::minutes(1)), kLate, [ran] { *ran = true; });
  const bool hung = !RunWithin(Deadline::After(std::chrono::milliseconds(20)), kLate,
                               [released = release.get_future().share()] { released.wait(); });
  release.set_value();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(came_back);
  EXPECT_TRUE(*ran);
  EXPECT_TRUE(hung);
}

}  // namespace
}  // namespace muster::nccl
