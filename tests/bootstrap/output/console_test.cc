#include "bootstrap/output/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "comm/log/log.h"
#include "tests/bootstrap/output/pipe.h"
#include "tests/comm/auth/inline_worker.h"
#include "tests/comm/net/test_loop.h"

namespace muster::output {
namespace {

using testing::HasSubstr;

void Fill(const UniqueFd& fd) {
  const std::string much(size_t{1} << 16, 'f');
  while (write(fd.get(), much.data(), much.size()) > 0) continue;
}

// The largest size of a file of this process, as `ulimit -f` sets it; the old one afterwards.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class ConsoleTest : public testing::Test {
 protected:
  ConsoleTest() {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    unlink(log.c_str());
    SetUpLog({LogLevel::kInfo, LogFormat::kText, log});
  }
  ~ConsoleTest() override { SetUpLog({}); }

  std::unique_ptr<Console> Make(UniqueFd fd, BlockingWorker& files, OutputKind kind = OutputKind::kOut,
                                Duration patience = Duration::zero()) {
    return std::make_unique<Console>(Console::Params{*loop, files, losses, kind, "the stream", patience},
                                     std::move(fd));
  }
  UniqueFd NewFile() { return UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)); }

  const std::string log = testing::TempDir() + "/console_test.log";
  const std::string path = testing::TempDir() + "/console_test.txt";
  net::TestLoop loop;
  auth::InlineWorker inline_worker;
  auth::HeldWorker held_worker;
  OutputLosses losses;
};

// The last write that fits is a short one; epoll refuses files, so nothing may wait for one.
TEST_F(ConsoleTest, AFileThatIsFullIsNamedOnceAndTriedAgain) {
  const auto console = Make(NewFile(), inline_worker);
  {
    const FileLimit limit(1000);  // of the log as well
    console->Write(std::string(1003, 'x'));
    EXPECT_TRUE(console->idle());
    console->Write("lost");
    EXPECT_TRUE(console->idle());
  }
  console->Write("later");
  EXPECT_TRUE(console->idle());
  EXPECT_FALSE(console->gone());
  EXPECT_EQ(FileText(path), std::string(1000, 'x') + "later");
  EXPECT_FALSE(losses.failure().empty());
  losses.Report();
  EXPECT_EQ(FileText(log),
            "muster: error: cannot write the stream: File too large; output is lost until it can be written\n"
            "muster: error: 7 bytes of the stream were lost: File too large\n");
}

// Whether a descriptor of this process writes to `pipe` without blocking.
bool SomeWriteEndDoesNotBlock(const UniqueFd& pipe) {
  const auto file = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", pipe.get()));
  return std::ranges::any_of(std::filesystem::directory_iterator("/proc/self/fd"), [&](const auto& entry) {
    std::error_code gone;  // the directory itself
    const int flags = fcntl(std::stoi(entry.path().filename()), F_GETFL);
    return std::filesystem::read_symlink(entry.path(), gone) == file && (flags & O_ACCMODE) == O_WRONLY &&
           (flags & O_NONBLOCK) != 0;
  });
}

// Programs write to the same pipe: one may take the room that poll has announced. They do not expect O_NONBLOCK.
TEST_F(ConsoleTest, WritesToAPipeByADescriptionOfItsOwnThatDoesNotBlock) {
  const Pipe pipe = MakePipe();
  fcntl(pipe.write_end.get(), F_SETFL, 0);
  const auto console = Make(UniqueFd(dup(pipe.write_end.get())), inline_worker);
  EXPECT_TRUE(SomeWriteEndDoesNotBlock(pipe.write_end));
  EXPECT_EQ(fcntl(pipe.write_end.get(), F_GETFL) & O_NONBLOCK, 0);
  console->Write("line\n");
  EXPECT_EQ(ReadSome(pipe.read_end.get()), "line\n");
}

// A device that epoll refuses.
TEST_F(ConsoleTest, AFullDeviceIsNoReasonToWait) {
  const auto console = Make(UniqueFd(open("/dev/full", O_WRONLY | O_CLOEXEC)), inline_worker);
  console->Write("lost\n");
  EXPECT_TRUE(console->idle());
  EXPECT_FALSE(losses.failure().empty());
  EXPECT_THAT(FileText(log), HasSubstr("error: cannot write the stream: No space left on device; "));
}

TEST_F(ConsoleTest, ALostStandardErrorDoesNotFailTheRun) {
  const auto console =
      Make(UniqueFd(open("/dev/full", O_WRONLY | O_CLOEXEC)), inline_worker, OutputKind::kErr);
  console->Write("lost\n");
  EXPECT_TRUE(losses.failure().empty());
  EXPECT_THAT(FileText(log), HasSubstr("warning: cannot write the stream: No space left on device; "));
}

TEST_F(ConsoleTest, LogFilesOfAFullDiskAreNamedOnceAndCounted) {
  OutputLosses full;
  full.Failed(OutputKind::kLogFile, "logs/rank0.0.gpu01.out", ENOSPC, 10);
  full.Failed(OutputKind::kLogFile, "logs/rank1.0.gpu01.out", ENOSPC, 20);
  full.Failed(OutputKind::kLogFile, "logs/rank1.0.gpu01.out", ENOSPC, 30);
  full.Report();
  EXPECT_FALSE(full.failure().empty());
  EXPECT_EQ(
      FileText(log),
      "muster: error: cannot write logs/rank0.0.gpu01.out: No space left on device; output is lost until it "
      "can be written\n"
      "muster: error: 60 bytes of 2 log files (the first: logs/rank0.0.gpu01.out) were lost: No space left "
      "on "
      "device\n");
}

// NFS whose server is away: this thread goes on, and the programs wait.
TEST_F(ConsoleTest, AFileSystemThatDoesNotAnswerIsWaitedForElsewhere) {
  const auto console = Make(NewFile(), held_worker);
  bool room = false;
  bool idle = false;
  console->Write("first\n");
  const std::string line = std::string(1023, 'x') + "\n";
  while (!console->full()) console->Write(line);
  console->WhenRoom([&] { room = true; });
  console->OnIdle([&] { idle = true; });
  loop.Settle();
  EXPECT_FALSE(room);
  EXPECT_EQ(held_worker.held(), 1u);
  EXPECT_EQ(FileText(path), "");
  held_worker.RunNext();  // the first line
  EXPECT_EQ(FileText(path), "first\n");
  EXPECT_EQ(held_worker.held(), 1u);
  held_worker.RunNext();
  EXPECT_EQ(held_worker.held(), 0u);
  loop.Settle();
  EXPECT_TRUE(room);
  EXPECT_TRUE(idle);
  EXPECT_EQ(FileText(path).size(), 6 + 256 * line.size());
}

TEST_F(ConsoleTest, AFileThatIsGivenUpMayAnswerLater) {
  auto console = Make(NewFile(), held_worker);
  console->Write("first\n");
  console->Write("second\n");
  console->GiveUp("it was not written within 10s");
  EXPECT_TRUE(console->idle());
  losses.Report();
  EXPECT_EQ(FileText(log),
            "muster: error: 13 bytes of the stream were lost: it was not written within 10s\n");
  EXPECT_TRUE(losses.failure().empty());
  console.reset();
  held_worker.RunNext();
  EXPECT_EQ(FileText(path), "first\n");
}

TEST_F(ConsoleTest, APipeWithoutAReaderIsGone) {
  Pipe pipe = MakePipe();
  pipe.read_end.Reset();
  const auto console = Make(std::move(pipe.write_end), inline_worker);
  console->Write("a\n");
  console->Write("b\n");
  EXPECT_TRUE(console->gone());
  EXPECT_TRUE(console->idle());
  EXPECT_TRUE(losses.failure().empty());
  EXPECT_EQ(FileText(log), "muster: warning: the stream has no reader: the rest is dropped\n");
}

TEST_F(ConsoleTest, AReaderThatStopsIsWaitedForUntilItIsGivenUp) {
  Pipe pipe = MakePipe();
  Fill(pipe.write_end);
  const auto console = Make(std::move(pipe.write_end), inline_worker);
  bool idle = false;
  console->Write("late\n");
  console->OnIdle([&] { idle = true; });
  loop.Settle();
  EXPECT_FALSE(idle);
  console->GiveUp("its reader did not take them within 10s");
  loop.Settle();
  EXPECT_TRUE(idle);
  EXPECT_TRUE(console->gone());
  losses.Report();
  EXPECT_EQ(FileText(log),
            "muster: error: 5 bytes of the stream were lost: its reader did not take them within 10s\n");
}

TEST_F(ConsoleTest, AReaderThatComesBackGetsTheRest) {
  Pipe pipe = MakePipe();
  Fill(pipe.write_end);
  const auto console = Make(std::move(pipe.write_end), inline_worker);
  console->Write("late\n");
  ReadSome(pipe.read_end.get());
  EXPECT_TRUE(loop.Until([&] { return console->idle(); }));
  EXPECT_EQ(ReadSome(pipe.read_end.get()), "late\n");
}

// A named pipe in run.log_dir whose reader has stopped: the program goes on without that file.
TEST_F(ConsoleTest, ANamedPipeThatTakesNothingIsClosed) {
  Pipe pipe = MakePipe();
  Fill(pipe.write_end);
  const auto console =
      Make(std::move(pipe.write_end), inline_worker, OutputKind::kLogFile, std::chrono::milliseconds(10));
  console->Write("late\n");
  EXPECT_TRUE(loop.Until([&] { return console->gone(); }));
  EXPECT_EQ(FileText(log), "muster: warning: the stream ends here: its reader took nothing for 10ms\n");
  ReadSome(pipe.read_end.get());
  char byte = 0;
  EXPECT_EQ(read(pipe.read_end.get(), &byte, 1), 0) << "it is closed";
}

TEST(NameOfStream, HasThePathOfAFile) {
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(NameOfStream("standard output", null.get()), "standard output (/dev/null)");
  const Pipe pipe = MakePipe();
  EXPECT_EQ(NameOfStream("standard output", pipe.write_end.get()), "standard output");
}

// It polls writable and takes less than a piece: the screen of a connection that has stopped.
TEST_F(ConsoleTest, ATerminalThatTakesAPartStopsNoLoop) {
  alarm(30);
  int screen = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&screen, &terminal, nullptr, nullptr, nullptr), 0);
  const UniqueFd reader(screen);
  const auto console = Make(UniqueFd(terminal), inline_worker);
  console->Write(std::string(size_t{128} * 1024, 'x'));
  EXPECT_FALSE(console->idle());
  alarm(0);
}

}  // namespace
}  // namespace muster::output
