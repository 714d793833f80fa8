#include "bootstrap/run/program/expected_files.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/comm/net/test_loop.h"

namespace {

// Calls of opendir, and of those how many may go on: a file system that is slow.
std::atomic<int> opened = 0;
std::atomic<int> may_go_on = 0;
// Of the monotonic clock.
std::atomic<int> seconds_ahead = 0;

}  // namespace

// In the place of the C library's.
extern "C" {
DIR* opendir(const char* path) {
  const int number = ++opened;
  while (may_go_on < number) std::this_thread::yield();
  return reinterpret_cast<decltype(&opendir)>(dlsym(RTLD_NEXT, "opendir"))(path);
}
int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  const auto result =
      reinterpret_cast<int (*)(clockid_t, struct timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"))(clock, time);
  if (clock == CLOCK_MONOTONIC) time->tv_sec += seconds_ahead;
  return result;
}
}

namespace muster::run {
namespace {

class ExpectedFilesTest : public testing::Test {
 protected:
  ExpectedFilesTest() {
    std::string name = testing::TempDir() + "/expected_files.XXXXXX";
    directory = mkdtemp(name.data());
  }
  ~ExpectedFilesTest() override { std::filesystem::remove_all(directory); }
  void SetUp() override { opened = 0, may_go_on = INT_MAX, seconds_ahead = 0; }

  std::string File(const std::string& name) const { return directory + "/" + name; }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(File(name)) << text; }
  // Of what is missing; empty: nothing.
  std::string Missing(const std::vector<std::string>& patterns, const FileStates& before = {}) const {
    const auto missing = CheckExpected(patterns, before);
    std::string text = missing ? missing->message : "";
    for (size_t at = 0; (at = text.find(directory)) != std::string::npos;)
      text.replace(at, directory.size(), "D");
    const std::string begin = "all programs exited with 0, but run.expect is not met: ";
    if (!missing) return "";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    return text.substr(begin.size());
  }

  std::string directory;
};

TEST_F(ExpectedFilesTest, MustExistAndHoldSomething) {
  EXPECT_EQ(Missing({File("a")}), "D/a does not exist");
  Write("a", "");
  EXPECT_EQ(Missing({File("a")}), "D/a is empty");
  Write("a", "1");
  EXPECT_EQ(Missing({File("a")}), "");
  EXPECT_EQ(Missing({File("a/b")}), "D/a/b does not exist");
}

TEST_F(ExpectedFilesTest, NamesThePlaceholderThatWasMeant) {
  Write("0.json", "1");
  EXPECT_EQ(CheckExpected({File("{rank}.json")}, {})->hint,
            "write ${rank} for its value: {rank} is part of the name here");
  EXPECT_EQ(CheckExpected({File("{other}.json")}, {})->hint, "look for an error in their output");
}

TEST_F(ExpectedFilesTest, MustBeWrittenByThisRun) {
  Write("a", "old");
  const FileStates before = LookAtFiles({File("a"), File("b")});
  EXPECT_EQ(Missing({File("a")}, before), "D/a was not written by this run");
  Write("b", "new");
  EXPECT_EQ(Missing({File("b")}, before), "");
  Write("a", "longer");
  EXPECT_EQ(Missing({File("a")}, before), "");
}

// The ranks' places are not known yet: every file that one of them may name is looked at.
TEST_F(ExpectedFilesTest, BeforeTheGroupIsFormedAPlaceholderIsAnyText) {
  Write("out.0", "old");
  Write("out.node7.1", "old");
  const FileStates before = LookAtFilesOfAnyRank({File("out.${rank}"), File("out.${node}.${local_rank}")});
  Write("out.1", "new");
  EXPECT_EQ(Missing({File("out.0"), File("out.1"), File("out.node7.1")}, before),
            "D/out.0 was not written by this run; D/out.node7.1 was not written by this run");
}

// As programs do that write a result in one step; the clock need not have moved on.
TEST_F(ExpectedFilesTest, ReplacedByAFileOfTheSameSizeAndTimeCounts) {
  Write("a", "old");
  const FileStates before = LookAtFiles({File("a")});
  struct stat old {};
  ASSERT_EQ(stat(File("a").c_str(), &old), 0);
  Write("b", "new");
  const struct timespec times[2] = {old.st_atim, old.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, File("b").c_str(), times, 0), 0);
  ASSERT_EQ(rename(File("b").c_str(), File("a").c_str()), 0);
  EXPECT_EQ(Missing({File("a")}, before), "");
}

// As `cp -p` and rsync do, which write into the file that is there.
TEST_F(ExpectedFilesTest, WrittenAgainWithTheSameSizeAndTimeCounts) {
  Write("a", "old");
  const struct timespec long_ago[2] = {{1'000'000, 0}, {1'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, File("a").c_str(), long_ago, 0), 0);
  const FileStates before = LookAtFiles({File("a")});
  EXPECT_EQ(Missing({File("a")}, before), "D/a was not written by this run");
  // The file system's clock may have steps of some milliseconds.
  const auto changed_at = [this] {
    struct stat status {};
    EXPECT_EQ(stat(File("a").c_str(), &status), 0);
    return std::pair(status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
  };
  for (const auto first = changed_at(); changed_at() == first;) {
    Write("a", "new");
    ASSERT_EQ(utimensat(AT_FDCWD, File("a").c_str(), long_ago, 0), 0);
  }
  EXPECT_EQ(Missing({File("a")}, before), "");
}

TEST_F(ExpectedFilesTest, OfAPatternOneMustCount) {
  EXPECT_EQ(Missing({File("results_*.json")}), "no file matches D/results_*.json");
  Write("results_1.json", "old");
  const FileStates before = LookAtFiles({File("results_*.json")});
  EXPECT_EQ(
      Missing({File("results_*.json")}, before),
      "of the files that match D/results_*.json none counts: D/results_1.json was not written by this run");
  Write("results_2.json", "new");
  EXPECT_EQ(Missing({File("results_*.json")}, before), "");
}

TEST_F(ExpectedFilesTest, ADirectoryMustHoldSomething) {
  ASSERT_EQ(mkdir(File("d").c_str(), 0700), 0);
  const FileStates before = LookAtFiles({File("d")});
  EXPECT_EQ(Missing({File("d")}), "D/d is empty");
  Write("d/x", "1");
  EXPECT_EQ(Missing({File("d")}), "");
}

// A file that is written again leaves its directory as it is.
TEST_F(ExpectedFilesTest, ADirectoryCountsIfAnEntryBelowItDiffers) {
  for (const std::string name : {"d/a.json", "d/run1/b.json", "d/run1/c.json"}) {
    std::filesystem::remove_all(File("d"));
    std::filesystem::create_directories(File("d/run1"));
    Write("d/a.json", "old");
    Write("d/run1/b.json", "old");
    const FileStates before = LookAtFiles({File("d")});
    EXPECT_EQ(Missing({File("d")}, before), "D/d was not written by this run");
    Write(name, "newer");
    EXPECT_EQ(Missing({File("d")}, before), "") << name;
  }
}

TEST_F(ExpectedFilesTest, BelowADirectoryNoLinkIsFollowed) {
  std::filesystem::create_directories(File("d"));
  std::filesystem::create_directories(File("other"));
  Write("other/a", "old");
  std::filesystem::create_directory_symlink(File("other"), File("d/link"));
  std::filesystem::create_directory_symlink(File("d"), File("d/loop"));
  const FileStates before = LookAtFiles({File("d")});
  Write("other/a", "newer");
  EXPECT_EQ(Missing({File("d")}, before), "D/d was not written by this run");
}

// Each entry is a request to a file server.
TEST_F(ExpectedFilesTest, MoreEntriesThanMusterReadsAreNotCompared) {
  std::filesystem::create_directories(File("d/below"));
  for (int number = 0; number < kMostEntriesBelow; ++number) Write("d/below/" + std::to_string(number), "");
  const FileStates before = LookAtFiles({File("d")});
  Write("d/below/0", "new");
  EXPECT_EQ(Missing({File("d")}, before), "D/d was not written by this run");
  Write("d/a", "new");
  EXPECT_EQ(Missing({File("d")}, before), "");
}

TEST_F(ExpectedFilesTest, ManyAreCounted) {
  EXPECT_EQ(Missing({File("a"), File("b"), File("c"), File("d"), File("e")}),
            "D/a does not exist; D/b does not exist; D/c does not exist; and 2 more");
}

// Each is a request to a file server.
TEST_F(ExpectedFilesTest, OfOneDirectoryCostOneLookAtIt) {
  EXPECT_NE(Missing({File("a"), File("b"), File("c")}), "");
  EXPECT_EQ(opened, 1);
}

// Two files in two directories, of a file system that answers after a while.
class SlowFiles : public ExpectedFilesTest {
 protected:
  void SetUp() override {
    opened = may_go_on = seconds_ahead = 0;
    files.emplace(*loop, std::vector<std::string>{File("1/a"), File("2/a")},
                  std::make_shared<std::optional<FileStates>>(FileStates{}));
    files->SetRanks(OneRank(), "job");
    files->Check(
        [this](const std::optional<Error>& error) { answer = error ? error->message : "all are there"; });
  }
  ~SlowFiles() override { may_go_on = INT_MAX; }

  static Roster OneRank() {
    Roster roster;
    roster.nodes.push_back({"gpu01", {}});
    roster.members.push_back({0, 0, 1, {}});
    return roster;
  }
  static void AwaitOpened(int number) {
    while (opened < number) std::this_thread::yield();
  }
  void Pass(int seconds) {
    seconds_ahead += seconds;
    loop.Settle();
  }

  net::TestLoop loop;
  std::optional<ExpectedFiles> files;
  std::string answer;
};

TEST_F(SlowFiles, MayTakeMoreThanAMinuteTogether) {
  AwaitOpened(1);
  Pass(40);
  may_go_on = 1;
  AwaitOpened(2);
  Pass(40);
  EXPECT_EQ(answer, "");
  may_go_on = 2;
  ASSERT_TRUE(loop.Until([&] { return !answer.empty(); }));
  EXPECT_EQ(answer, "all programs exited with 0, but run.expect is not met: " + File("1/a") +
                        " does not exist; " + File("2/a") + " does not exist");
}

TEST_F(SlowFiles, AreGivenUpAfterAMinuteWithoutAnAnswer) {
  AwaitOpened(1);
  Pass(40);
  may_go_on = 1;
  AwaitOpened(2);
  Pass(40);
  Pass(21);
  EXPECT_EQ(answer, "the files of run.expect could not be examined: no answer for 1m");
}

TEST(ExpandExpected, OnceForEachRankThatItNames) {
  const auto value = [](int rank, std::string_view name) {
    return name == "node" ? "gpu0" + std::to_string(rank / 2) : std::to_string(rank);
  };
  EXPECT_EQ(ExpandExpected({"all.json", "${node}.log", "${rank}.json", "all.json", "$${rank}"}, 4, value),
            (std::vector<std::string>{"all.json", "gpu00.log", "gpu01.log", "0.json", "1.json", "2.json",
                                      "3.json", "${rank}"}));
}

}  // namespace
}  // namespace muster::run
