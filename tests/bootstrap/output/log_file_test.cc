#include "bootstrap/output/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/comm/base/another_user.h"

namespace muster::output {
namespace {

TEST(OpenLogFile, SaysWhyItCannot) {
  const std::string file = testing::TempDir() + "/open_log_file_test";
  std::ofstream(file) << "x";
  const auto opened = OpenLogFile(file + "/logs", "rank0.0.a.out");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kSystem);
  EXPECT_EQ(opened.error().message, "cannot write " + file + "/logs/rank0.0.a.out: Not a directory");
  EXPECT_EQ(opened.error().hint, "choose a run.log_dir that is writable on every node");
}

TEST(OpenLogFile, NamesTheLimitOnOpenFiles) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto opened = OpenLogFile(testing::TempDir(), "rank0.0.a.out");
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().hint, "raise the limit on open files: ulimit -Sn");
}

TEST(OpenLogFile, AddsToWhatIsThere) {
  const std::string name = "rank0.0.adds.out";
  for (const char* text : {"a", "b"}) {
    const auto opened = OpenLogFile(testing::TempDir(), name);
    ASSERT_TRUE(opened);
    ASSERT_EQ(write(opened->get(), text, 1), 1);
  }
  EXPECT_EQ(TextOf(testing::TempDir() + "/" + name), "ab");
  EXPECT_EQ(unlink((testing::TempDir() + "/" + name).c_str()), 0);
}

// Else it would be refused the next time.
TEST(OpenLogFile, MakesDirectoriesThatNotEveryUserMayWrite) {
  const SharedFolder folder;
  const mode_t before = umask(0);
  const auto first = OpenLogFile(folder / "a//b/", "rank0.0.a.out");
  const auto second = OpenLogFile(folder / "a/b", "rank0.0.a.out");
  umask(before);
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  for (const char* directory : {"a", "a/b"}) {
    struct stat status {};
    ASSERT_EQ(stat((folder / directory).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0775U) << directory;
  }
}

TEST(OpenLogFile, RefusesWhatAStrangerHasPrepared) {
  if (!IsRoot()) GTEST_SKIP() << "needs root";
  const SharedFolder folder;
  folder.Directory("logs", kVictim, 0775);
  const std::string secret = folder.File("secret", kVictim, 0600, "secret");
  folder.Link("logs/rank0.0.a.out", kStranger, secret);
  folder.Fifo("logs/rank0.0.a.err", kStranger);
  for (const std::string name : {"rank0.0.a.out", "rank0.0.a.err"}) {
    const std::string said = As(kVictim, [&]() -> std::string {
      const auto opened = OpenLogFile(folder / "logs", name);
      return opened ? "opened" : opened.error().message;
    });
    EXPECT_THAT(said, testing::StartsWith("cannot write " + (folder / "logs/") + name + ": th")) << name;
    EXPECT_THAT(said, testing::EndsWith(" belongs to user 54322"));
  }
  EXPECT_EQ(TextOf(secret), "secret");
}

}  // namespace
}  // namespace muster::output
