#include "bootstrap/process/proc_file.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace muster::process {
namespace {

TEST(ReadProcFile, ReadsAFileOfUnknownLength) {
  const auto status = ReadProcFile("/proc/self/status");
  ASSERT_TRUE(status);
  EXPECT_NE(status->find("\nPid:\t" + std::to_string(getpid()) + "\n"), std::string::npos);
}

TEST(ReadProcFile, HasNothingOfAProcessThatIsNotThere) {
  EXPECT_EQ(ReadProcFile("/proc/0/comm"), std::nullopt);
}

TEST(ProcessName, IsTheKernelsNameForIt) {
  ASSERT_EQ(prctl(PR_SET_NAME, "odd (name)"), 0);
  EXPECT_EQ(ProcessName(getpid()), "odd (name)");
  EXPECT_EQ(ProcessName(0), "?");
}

}  // namespace
}  // namespace muster::process
