// Through the log, as its users meet it: a log.file, or a standard error, whose file system stalls.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "comm/base/deadline.h"
#include "comm/log/log.h"
#include "tests/comm/net/test_loop.h"

namespace {

// A file system that can stall.
struct Server {
  std::mutex mutex;
  std::condition_variable changed;
  ino_t file = 0;
  bool stalled = false;
  int error_number = 0;
};

Server& TheServer() {
  static Server& server = *new Server;
  return server;
}

}  // namespace

// In the place of the C library's.
extern "C" ssize_t write(int fd, const void* bytes, size_t count) {
  Server& server = TheServer();
  struct stat status {};
  if (server.file != 0 && fstat(fd, &status) == 0 && status.st_ino == server.file) {
    std::unique_lock lock(server.mutex);
    server.changed.wait(lock, [&] { return !server.stalled; });
    if (server.error_number != 0) {
      errno = server.error_number;
      return -1;
    }
  }
  return syscall(SYS_write, fd, bytes, count);
}

namespace muster {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::MatchesRegex;
using testing::StartsWith;

class FileSinkTest : public testing::Test {
 protected:
  FileSinkTest() {
    alarm(30);  // a log that waits for the file would wait for ever
    unlink(path_.c_str());
    Start();
    struct stat status {};
    EXPECT_EQ(stat(path_.c_str(), &status), 0);
    TheServer().file = status.st_ino;
  }
  ~FileSinkTest() override {
    Resume();
    FlushLog(Deadline::Never());
    SetUpLog({});
    TheServer().file = 0;
    alarm(0);
  }

  void Start() { SetUpLog({LogLevel::kInfo, LogFormat::kText, path_}); }
  static void Stall() { Set(true, 0); }
  static void Resume(int error_number = 0) { Set(false, error_number); }

  static std::string Text(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string Written() const { return Text(path_); }
  // Of a captured standard error.
  static std::string Shown() { return Text("/proc/self/fd/2"); }
  template <typename Condition>
  static void Await(Condition condition) {
    for (; !condition(); std::this_thread::yield()) FlushLog(Deadline::After(Duration::zero()));
  }

  const std::string path_ = testing::TempDir() + "file_sink_test.log";

 private:
  static void Set(bool stalled, int error_number) {
    const std::lock_guard lock(TheServer().mutex);
    TheServer().stalled = stalled;
    TheServer().error_number = error_number;
    TheServer().changed.notify_all();
  }
};

// The thread that wrote does not keep it open.
TEST_F(FileSinkTest, AFileThatIsNoLongerTheLogIsClosed) {
  SetUpLog({});
  const auto before = net::OpenDescriptors();
  for (int i = 0; i < 200; ++i) {
    Start();
    LogInfo("one");
    SetUpLog({});
    ASSERT_EQ(net::OpenDescriptors(), before) << i;
  }
}

TEST_F(FileSinkTest, LinesForAFileThatStallsAreKept) {
  Stall();
  LogInfo("one");
  LogInfo("two");
  EXPECT_EQ(Written(), "");
  Resume();
  LogInfo("three");
  Await([&] { return Written().ends_with("three\n"); });
  EXPECT_EQ(Written(), "muster: one\nmuster: two\nmuster: three\n");
}

// 64 KiB are kept: 648 lines of 101 bytes.
TEST_F(FileSinkTest, WhatAStalledFileLosesIsCountedInIt) {
  Stall();
  for (int i = 0; i < 1000; ++i) LogInfo("{:04} {}", i, std::string(87, 'x'));
  Resume();
  Await([&] { return Written().find("were not written") != std::string::npos; });
  LogInfo("written again");
  Await([&] { return Written().ends_with("written again\n"); });
  EXPECT_THAT(Written(), AllOf(StartsWith("muster: 0000 x"), testing::HasSubstr("\nmuster: 0647 x"),
                               testing::Not(testing::HasSubstr("\nmuster: 0648 x")),
                               testing::ContainsRegex(
                                   "x\nmuster: warning: 352 lines were not written: log.file was blocked for "
                                   "[0-9.]+ s\nmuster: written again\n$")));
}

TEST_F(FileSinkTest, WhatFailsAfterAStallGoesToStderr) {
  testing::internal::CaptureStderr();
  Stall();
  LogInfo("one");
  LogInfo("two");
  Resume(ESTALE);
  LogInfo("three");
  Await([&] { return Shown().ends_with("three\n"); });
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex("muster: warning: log.file: cannot write .*file_sink_test.log: Stale file handle; "
                           "these lines go to standard error\nmuster: one\nmuster: two\nmuster: three\n"));
  Resume();
  LogInfo("four");
  Await([&] { return Written() == "muster: four\n"; });
}

// The last line of a process is often the reason for its exit.
TEST_F(FileSinkTest, AtTheEndLinesThatTheFileDoesNotTakeGoToStderr) {
  testing::internal::CaptureStderr();
  Stall();
  LogInfo("one");
  LogError("two");
  FlushLog(Deadline::After(Duration::zero()));
  FlushLog(Deadline::Never());
  LogError("three");
  FlushLog(Deadline::Never());
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      MatchesRegex("muster: warning: log.file: cannot write .*file_sink_test.log: it has been blocked "
                   "for [0-9.]+ s; these lines go to standard error\nmuster: one\nmuster: error: "
                   "two\nmuster: error: three\n"));
}

TEST_F(FileSinkTest, AProgramThatExitsWritesWhatWasKept) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Stall();
        LogError("the reason");
        exit(3);
      },
      testing::ExitedWithCode(3), "muster: error: the reason\n");
}

// No thread of the parent's is in a forked child.
TEST_F(FileSinkTest, AForkedChildWritesItsLines) {
  LogInfo("parent");
  Await([&] { return Written() == "muster: parent\n"; });
  Stall();
  LogInfo("kept");
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    TheServer().file = 0;
    LogInfo("child");
    FlushLog(Deadline::Never());
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Written(), "muster: parent\nmuster: child\n");
}

TEST_F(FileSinkTest, AThreadIsStartedByTheFirstLineInAFile) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    const auto threads = [] {
      const std::filesystem::directory_iterator tasks("/proc/self/task");
      return std::distance(begin(tasks), end(tasks));
    };
    const auto before = threads();
    SetUpLog({});
    LogInfo("on standard error");
    Start();
    LogDebug("below the level");
    if (threads() != before) _exit(1);
    LogInfo("one");
    LogInfo("two");
    _exit(threads() == before + 1 ? 0 : 2);
  }
  for (const int end : pipe_ends) close(end);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// `sbatch --error=FILE` and `2>FILE`.
class StandardErrorTest : public FileSinkTest {
 protected:
  StandardErrorTest() {
    SetUpLog({});
    unlink(path_.c_str());
    const UniqueFd file(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    dup2(file.get(), STDERR_FILENO);
    struct stat status {};
    EXPECT_EQ(fstat(STDERR_FILENO, &status), 0);
    TheServer().file = status.st_ino;
  }
  ~StandardErrorTest() override {
    Resume();
    FlushLog(Deadline::Never());
    dup2(before_.get(), STDERR_FILENO);
  }

 private:
  const UniqueFd before_{dup(STDERR_FILENO)};
};

TEST_F(StandardErrorTest, LinesForAFileThatStallsAreKept) {
  Stall();
  LogInfo("one");
  LogInfo("two");
  EXPECT_EQ(Shown(), "");
  Resume();
  LogInfo("three");
  Await([] { return Shown().ends_with("three\n"); });
  EXPECT_EQ(Shown(), "muster: one\nmuster: two\nmuster: three\n");
}

TEST_F(StandardErrorTest, WhatAStalledFileLosesIsCountedInIt) {
  Stall();
  for (int i = 0; i < 1000; ++i) LogInfo("{:04} {}", i, std::string(87, 'x'));
  Resume();
  Await([] { return Shown().find("were not written") != std::string::npos; });
  EXPECT_THAT(Shown(),
              testing::ContainsRegex("x\nmuster: warning: 352 lines were not written: standard error was "
                                     "blocked for [0-9.]+ s\n$"));
}

TEST_F(StandardErrorTest, AFullDiskGetsItsLinesOnceItHasRoom) {
  Resume(ENOSPC);
  LogInfo("one");
  LogInfo("two");
  FlushLog(Deadline::Never());
  EXPECT_EQ(Shown(), "");
  Resume();
  LogInfo("three");
  Await([] { return Shown().ends_with("three\n"); });
  EXPECT_EQ(Shown(), "muster: one\nmuster: two\nmuster: three\n");
}

// The descriptor is that of other processes; without O_APPEND they share its offset.
TEST_F(StandardErrorTest, LinesStandBetweenThoseOfOtherProcesses) {
  for (const char* line : {"one", "two"}) {
    ASSERT_EQ(write(STDERR_FILENO, "theirs\n", 7), 7);
    LogInfo("{}", line);
    FlushLog(Deadline::Never());
  }
  EXPECT_EQ(Shown(), "theirs\nmuster: one\ntheirs\nmuster: two\n");
}

TEST_F(StandardErrorTest, AProgramThatExitsWritesWhatWasKept) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Stall();
        LogError("the reason");
        std::atexit([] { Resume(); });
        exit(3);
      },
      testing::ExitedWithCode(3), "");
  EXPECT_EQ(Written(), "muster: error: the reason\n");
}

}  // namespace
}  // namespace muster
