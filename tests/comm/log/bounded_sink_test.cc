// Through the log, as its users meet it: a standard error without a reader.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "comm/base/unique_fd.h"
#include "comm/log/log.h"

namespace {

// The next poll is followed by a process that fills this pipe, which does not block.
int g_filled_after_poll = -1;

}  // namespace

// In the place of the C library's.
extern "C" int poll(pollfd* interests, nfds_t count, int milliseconds) {
  const timespec limit{milliseconds / 1000, milliseconds % 1000 * 1000000L};
  const int ready = ppoll(interests, count, milliseconds < 0 ? nullptr : &limit, nullptr);
  const int error = errno;
  static const std::string block(4096, 'x');
  while (g_filled_after_poll >= 0 && write(g_filled_after_poll, block.data(), block.size()) > 0) continue;
  g_filled_after_poll = -1;
  errno = error;
  return ready;
}

namespace muster {
namespace {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Pipe MakePipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void Fill(int fd) {
  const std::string block(4096, 'x');
  fcntl(fd, F_SETFL, O_NONBLOCK);
  while (write(fd, block.data(), block.size()) > 0) {
  }
  fcntl(fd, F_SETFL, 0);
}

std::string ReadToEnd(int fd) {
  std::string text;
  std::array<char, 65536> chunk{};
  for (ssize_t n = 1; n > 0;) {
    n = read(fd, chunk.data(), chunk.size());
    if (n > 0) text.append(chunk.data(), static_cast<size_t>(n));
  }
  return text;
}

// `end`: of what a reader finds that comes back after `lines` lines of 100 characters.
void ExpectAfterAPause(LogFormat format, int lines, const testing::Matcher<std::string>& end) {
  Pipe standard_error = MakePipe();
  Pipe step = MakePipe();
  Pipe go_on = MakePipe();
  Fill(standard_error.write_end.get());
  const pid_t child = fork();
  if (child == 0) {
    dup2(standard_error.write_end.get(), STDERR_FILENO);
    SetUpLog({LogLevel::kInfo, format, std::nullopt});
    SetLogSubject({3, "gpu01", ""});
    for (int i = 0; i < lines; ++i) LogInfo("{:04} {}", i, std::string(95, 'x'));
    char byte = 'l';
    if (write(step.write_end.get(), &byte, 1) != 1 || read(go_on.read_end.get(), &byte, 1) != 1) _exit(1);
    LogInfo("read again");
    FlushLog(Deadline::After(std::chrono::seconds(20)));
    _exit(0);
  }
  // It gets here although nothing was read: a log that waited would hold it for ever.
  pollfd logged{step.read_end.get(), POLLIN, 0};
  ASSERT_EQ(poll(&logged, 1, 20000), 1);
  std::array<char, 65536> chunk{};
  ASSERT_GT(read(standard_error.read_end.get(), chunk.data(), chunk.size()), 0);
  ASSERT_EQ(write(go_on.write_end.get(), "g", 1), 1);
  standard_error.write_end.Reset();
  EXPECT_THAT(ReadToEnd(standard_error.read_end.get()), end);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(BoundedSink, LinesForAReaderThatPausesAreKept) {
  ExpectAfterAPause(LogFormat::kText, 3,
                    testing::AllOf(testing::StartsWith("muster: rank 3 on gpu01: 0000 x"),
                                   testing::HasSubstr("x\nmuster: rank 3 on gpu01: 0002 x"),
                                   testing::Not(testing::HasSubstr("dropped")),
                                   testing::EndsWith("x\nmuster: rank 3 on gpu01: read again\n")));
}

// 64 KiB are kept: 520 lines of 126 bytes.
TEST(BoundedSink, AFullStandardErrorDelaysNobodyAndWhatWasLostIsCounted) {
  ExpectAfterAPause(LogFormat::kText, 1000,
                    testing::AllOf(testing::StartsWith("muster: rank 3 on gpu01: 0000 x"),
                                   testing::EndsWith("x\nmuster: rank 3 on gpu01: warning: 480 lines were "
                                                     "dropped: standard error was not "
                                                     "read\nmuster: rank 3 on gpu01: read again\n")));
}

TEST(BoundedSink, TheLineThatCountsIsJsonInALogOfJson) {
  ExpectAfterAPause(
      LogFormat::kJson, 1000,
      testing::AllOf(
          testing::StartsWith("{\"time\":"),
          testing::HasSubstr(R"("level":"warning","event":"log_failed","rank":3,"node":"gpu01",)"),
          testing::ContainsRegex(R"("message":"[0-9]+ lines were dropped: standard error was not read"})"
                                 "\n\\{\"time\":"),
          testing::EndsWith("\"message\":\"read again\"}\n")));
}

// The end of a process: a reader that has gone is not waited for, one that has stopped until the deadline.
TEST(BoundedSink, FlushDoesNotWaitForAReaderThatHasGone) {
  Pipe standard_error = MakePipe();
  Fill(standard_error.write_end.get());
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_IGN);
    dup2(standard_error.write_end.get(), STDERR_FILENO);
    standard_error.read_end.Reset();
    LogInfo("lost");
    FlushLog(Deadline::After(std::chrono::milliseconds(1)));
    FlushLog(Deadline::Never());
    _exit(0);
  }
  standard_error.read_end.Reset();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// With AddressSanitizer its own poll is called, and not the one above.
#if !defined(__SANITIZE_ADDRESS__)
// The inherited description blocks: other processes share it.
TEST(BoundedSink, APipeThatAnotherProcessFillsAfterPollDelaysNoProcess) {
  const Pipe standard_error = MakePipe();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const int write_end = standard_error.write_end.get();
    const int read_end = standard_error.read_end.get();
    dup2(write_end, STDERR_FILENO);
    g_filled_after_poll =
        open(fmt::format("/proc/self/fd/{}", write_end).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    LogInfo("kept");
    if (fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) _exit(2);
    std::array<char, 65536> full{};
    if (read(read_end, full.data(), full.size()) != static_cast<ssize_t>(full.size())) _exit(3);
    FlushLog(Deadline::Never());
    const ssize_t got = read(read_end, full.data(), full.size());
    _exit(got > 0 && std::string_view(full.data(), static_cast<size_t>(got)).ends_with("muster: kept\n") ? 0
                                                                                                         : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

// A terminal that polls writable takes less than PIPE_BUF bytes: that of a screen that has stopped in the middle.
TEST(BoundedSink, ATerminalThatTakesAPartDelaysNoProcess) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int screen = -1;
    int terminal = -1;
    if (openpty(&screen, &terminal, nullptr, nullptr, nullptr) != 0) _exit(2);
    dup2(terminal, STDERR_FILENO);
    Fill(terminal);
    for (int i = 0; i < 300; ++i) LogInfo("{:04} {}", i, std::string(95, 'x'));
    std::array<char, 64> part{};
    for (int i = 0; i < 500; ++i) {
      if (read(screen, part.data(), part.size()) <= 0) _exit(3);
      LogInfo("goes on");
    }
    _exit(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK ? 4 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace muster
