#include "comm/system/cpus.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "tests/comm/base/print_error.h"

namespace {

size_t possible_cpus = 0;  // 0: as they are

}  // namespace

// A kernel that has possible_cpus: it refuses a smaller set. This process may run on the first and the last one.
extern "C" int sched_getaffinity(pid_t process, size_t size, cpu_set_t* set) noexcept {
  if (possible_cpus == 0) {
    const auto real = reinterpret_cast<decltype(&sched_getaffinity)>(dlsym(RTLD_NEXT, "sched_getaffinity"));
    return real(process, size, set);
  }
  if (8 * size < possible_cpus) {
    errno = EINVAL;
    return -1;
  }
  CPU_ZERO_S(size, set);
  CPU_SET_S(0, size, set);
  CPU_SET_S(possible_cpus - 1, size, set);
  return 0;
}

namespace muster {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(CpusOf, ReadsSetsOfAnySize) {
  for (const size_t possible : {64, 1024, 2048, 8192, 100'000}) {
    possible_cpus = possible;
    EXPECT_THAT(CpusOf(), Optional(ElementsAre(0, static_cast<int>(possible) - 1)));
  }
  possible_cpus = 1 << 24;
  EXPECT_EQ(CpusOf(), std::nullopt);
  possible_cpus = 0;
}

TEST(Sharers, AreThoseThatCannotBeAskedToo) {
  const std::array<pid_t, 3> processes = {getpid(), getpid(), 1 << 30};
  EXPECT_EQ(CountSharers(processes), 3);
}

TEST(Sharers, AreNotThoseWithOtherCpus) {
  const auto ours = CpusOf();
  ASSERT_TRUE(ours);
  if (ours->size() < 2) GTEST_SKIP() << "one CPU";
  ASSERT_TRUE(RunOn(std::span(&ours->back(), 1)));
  // It inherits the mask and runs until it is killed.
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  const std::array<pid_t, 2> processes = {getpid(), child};
  EXPECT_EQ(CountSharers(processes), 2);
  EXPECT_TRUE(RunOn(std::span(&ours->front(), 1)));
  EXPECT_EQ(CountSharers(processes), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(RunOn(*ours));
}

TEST(RunOn, BindsThisThread) {
  const auto before = CpusOf();
  ASSERT_TRUE(before && !before->empty());
  const std::vector<int> last = {before->back()};
  ASSERT_TRUE(RunOn(last));
  EXPECT_EQ(CpusOf(), last);
  ASSERT_TRUE(RunOn(*before));
  EXPECT_EQ(CpusOf(), before);
  EXPECT_FALSE(RunOn({}));
}

}  // namespace
}  // namespace muster
