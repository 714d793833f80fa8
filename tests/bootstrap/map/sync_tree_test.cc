#include "bootstrap/map/sync_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>

#include "bootstrap/process/descendants.h"
#include "tests/bootstrap/map/commands.h"

namespace {

// The paths that were written to the disk, from the test's directory on; and one that cannot be.
std::set<std::string> synced;
std::string broken;

int Note(int fd, const std::string& prefix) {
  const std::string whole = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd));
  const std::string path = whole.substr(whole.rfind("/folder.") + std::strlen("/folder.XXXXXX"));
  synced.insert(prefix + path);
  if (path != broken) return 0;
  errno = EIO;
  return -1;
}

}  // namespace

// In place of the C library's.
extern "C" int fsync(int fd) { return Note(fd, ""); }
extern "C" int syncfs(int fd) { return Note(fd, "all of "); }

namespace muster::map {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SyncTreeTest : public testing::Test {
 protected:
  SyncTreeTest() { synced.clear(), broken = "none"; }
  const Folder folder_;
};

TEST_F(SyncTreeTest, WritesAllThatIsThere) {
  std::filesystem::create_directories(folder_.File("deep/er"));
  std::filesystem::create_symlink("/", folder_.File("link"));
  folder_.Write("stdout", "");
  folder_.Write("answer", "42");
  folder_.Write("deep/er/scores", "1");
  folder_.Write("deep/er/mark", "");  // its name is all that it has
  const auto found = SyncTree(folder_.path());
  ASSERT_TRUE(found && *found);
  EXPECT_THAT(synced, ElementsAre("", "/answer", "/deep", "/deep/er", "/deep/er/scores"));
}

TEST_F(SyncTreeTest, CostsNothingForAProgramThatWroteNothing) {
  folder_.Write("stdout", "");
  folder_.Write("stderr", "");
  EXPECT_EQ(SyncTree(folder_.path()), Result<bool>(false));
  EXPECT_THAT(synced, IsEmpty());
}

TEST_F(SyncTreeTest, LeavesManyFilesToTheFileSystem) {
  for (int i = 0; i < 100; ++i) folder_.Write(std::to_string(i), "x");
  EXPECT_EQ(SyncTree(folder_.path()), Result<bool>(true));
  EXPECT_THAT(synced, ElementsAre("all of "));
}

TEST_F(SyncTreeTest, ReportsAFileThatCannotBeWritten) {
  broken = "/answer";
  const std::string answer = folder_.Write("answer", "42");
  const auto found = SyncTree(folder_.path());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kSystem);
  EXPECT_EQ(found.error().message, "cannot write " + answer + " to its disk: Input/output error");
}

class SyncedAttempts : public SyncTreeTest {
 protected:
  void SetUp() override { ASSERT_TRUE(process::BecomeSubreaper()); }
  void TearDown() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }
};

// First the files, then the name of the result.
TEST_F(SyncedAttempts, AreOnTheDiskBeforeTheyAreDone) {
  const Commands commands("echo {item} >result");
  EXPECT_EQ(commands.Run()->kind, AttemptEnd::Kind::kDone);
  EXPECT_THAT(synced, ElementsAre("/out", "/out/.attempts/run/i0.1.5", "/out/.attempts/run/i0.1.5/result"));
}

// No fault of the item: it is given back.
TEST_F(SyncedAttempts, WithoutADiskAreNotDone) {
  const Commands commands("echo {item} >result");
  broken = "/out/.attempts/run/i0.1.5/result";
  const auto end = commands.Run();
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().message, HasSubstr("/result to its disk: Input/output error"));
  EXPECT_FALSE(commands.folder.Has("out/i0"));
}

TEST_F(SyncedAttempts, ThatWroteNothingNeedNoDisk) {
  const Commands commands("true");
  EXPECT_EQ(commands.Run()->kind, AttemptEnd::Kind::kDone);
  EXPECT_THAT(synced, IsEmpty());
}

}  // namespace
}  // namespace muster::map
