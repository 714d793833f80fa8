#include "comm/system/start_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/comm/base/print_error.h"

namespace muster {
namespace {

using testing::StartsWith;

void Write(const std::string& directory, const std::string& most, const std::string& current) {
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/pids.max") << most << '\n';
  std::ofstream(directory + "/pids.current") << current << '\n';
}

std::string Mount(const std::string& name) { return testing::TempDir() + "/" + name; }

TEST(ProcessLimitHint, NamesTheLowestOfACgroupAndThoseAboveIt) {
  const std::string mount = Mount("v2");
  Write(mount, "9000", "100");
  Write(mount + "/system/job_4", "512", "40");
  Write(mount + "/system/job_4/step_0", "max", "40");
  EXPECT_THAT(ProcessLimitHint("0::/system/job_4/step_0\n", mount),
              testing::MatchesRegex("raise the limit on processes and threads: ulimit -u, now [a-z0-9]+, or "
                                    "pids.max of the cgroup /system/job_4, now 512"));
}

TEST(ProcessLimitHint, NamesTheFullCgroupAlone) {
  const std::string mount = Mount("v1");
  Write(mount + "/pids", "64", "10");
  Write(mount + "/pids/job:4", "128", "128");
  EXPECT_EQ(ProcessLimitHint("9:name=systemd:/\n8:pids:/job:4/step_0\n4:memory:/job\n0::/\n", mount),
            "raise the limit on processes and threads: pids.max of the cgroup /job:4, now 128");
}

TEST(ProcessLimitHint, NamesTheUsersWithoutACgroup) {
  for (const char* memberships : {"", "0::/\n", "x\n::\n"}) {
    EXPECT_THAT(ProcessLimitHint(memberships, Mount("none")),
                testing::MatchesRegex("raise the limit on processes and threads: ulimit -u, now [a-z0-9]+"));
  }
}

TEST(StartThread, NamesTheLimitThatIsReached) {
  rlimit before{};
  Error error;
  std::thread([&] {
    constexpr uid_t kNoOwner = 65534;
    if (geteuid() == 0) syscall(SYS_setresuid, kNoOwner, kNoOwner, kNoOwner);  // of this thread alone
    getrlimit(RLIMIT_NPROC, &before);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
    const auto thread = StartThread("the store's thread", [] {});
    ASSERT_FALSE(thread);
    error = thread.error();
  }).join();
  setrlimit(RLIMIT_NPROC, &before);
  EXPECT_EQ(error.code, Code::kSystem);
  EXPECT_EQ(error.message, "cannot start the store's thread: Resource temporarily unavailable");
  EXPECT_THAT(error.hint, StartsWith("raise the limit on processes and threads: ulimit -u, now 0"));
}

}  // namespace
}  // namespace muster
