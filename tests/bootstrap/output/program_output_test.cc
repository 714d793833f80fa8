#include "bootstrap/output/program_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "bootstrap/output/log_file.h"
#include "tests/bootstrap/output/pipe.h"
#include "tests/comm/auth/inline_worker.h"
#include "tests/comm/net/test_loop.h"

namespace muster::output {
namespace {

class ProgramOutputTest : public testing::Test {
 protected:
  ProgramOutputTest() { signal(SIGPIPE, SIG_IGN); }

  std::unique_ptr<ProgramOutput> Output(UniqueFd pipe, std::optional<std::string> label,
                                        Console* file = nullptr, bool ends_with_reader = false) {
    return std::make_unique<ProgramOutput>(ProgramOutput::Params{"standard output of rank 0", *loop, console,
                                                                 std::move(label), file, ends_with_reader},
                                           std::move(pipe));
  }
  void Write(const UniqueFd& fd, std::string_view text) {
    ASSERT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Until this number of bytes has come.
  std::string Shown(size_t bytes) {
    std::string text;
    EXPECT_TRUE(loop.Until([&] {
      text += ReadSome(screen.read_end.get());
      if (text.size() < bytes) loop->After(std::chrono::milliseconds(1), [] {});
      return text.size() >= bytes;
    }));
    return text;
  }

  net::TestLoop loop;
  Pipe screen = MakePipe();
  auth::InlineWorker files;
  auth::HeldWorker stalled_files;
  OutputLosses losses;
  Console console{{*loop, files, losses, OutputKind::kOut, "standard output"},
                  UniqueFd(dup(screen.write_end.get()))};
};

TEST_F(ProgramOutputTest, LinesOfTwoProgramsAreNeverMixed) {
  Pipe one = MakePipe();
  Pipe two = MakePipe();
  const auto first = Output(std::move(one.read_end), "0: ");
  const auto second = Output(std::move(two.read_end), "1: ");
  Write(one.write_end, "half");
  loop.Settle();
  Write(two.write_end, "whole\n");
  loop.Settle();
  Write(one.write_end, " a line\n");
  EXPECT_EQ(Shown(24), "1: whole\n0: half a line\n");
}

TEST_F(ProgramOutputTest, ALineThatWaitsIsShownAfterAWhile) {
  Pipe pipe = MakePipe();
  const auto output = Output(std::move(pipe.read_end), "0: ");
  Write(pipe.write_end, "Password:");
  EXPECT_EQ(Shown(13), "0: Password:\n");
}

TEST_F(ProgramOutputTest, TheRestHasALastLineWithoutAnEnd) {
  Pipe pipe = MakePipe();
  const auto output = Output(std::move(pipe.read_end), "0: ");
  Write(pipe.write_end, "a\nb");
  output->TakeRest();
  EXPECT_EQ(ReadSome(screen.read_end.get()), "0: a\n0: b\n");
  EXPECT_EQ(output->Tail(), "a\nb");
}

TEST_F(ProgramOutputTest, AFileGetsWhatTheProgramWrote) {
  const std::string directory = testing::TempDir() + "/program_output_test/deep";
  const LogFileName name{3, 16, 0, "gpu01"};
  EXPECT_EQ(ToString(name, "err"), "rank03.0.gpu01.err");
  auto file = OpenLogFile(directory, ToString(name, "out"));
  ASSERT_TRUE(file);
  Pipe pipe = MakePipe();
  Console log_file({*loop, files, losses, OutputKind::kLogFile, "the file"}, *std::move(file));
  const auto output = Output(std::move(pipe.read_end), "3: ", &log_file);
  const std::string bytes("a\0\xff\nb", 5);
  Write(pipe.write_end, bytes);
  output->TakeRest();
  EXPECT_EQ(FileText(directory + "/rank03.0.gpu01.out"), bytes);
  EXPECT_EQ(unlink((directory + "/rank03.0.gpu01.out").c_str()), 0);
}

TEST_F(ProgramOutputTest, WithoutALabelBytesPassAsTheyAre) {
  Pipe pipe = MakePipe();
  const auto output = Output(std::move(pipe.read_end), std::nullopt);
  Write(pipe.write_end, "10%\r20%");
  EXPECT_EQ(Shown(7), "10%\r20%");
}

// The program waits; nothing grows, nothing is lost.
TEST_F(ProgramOutputTest, AReaderThatStopsStopsTheProgram) {
  Pipe pipe = MakePipe();
  const auto output = Output(std::move(pipe.read_end), "0: ");
  const std::string line = std::string(99, 'x') + "\n";
  size_t written = 0;
  for (int idle = 0; idle < 50;) {
    const ssize_t count = write(pipe.write_end.get(), line.data(), line.size());
    idle = count > 0 ? 0 : idle + 1;
    if (count > 0) written += static_cast<size_t>(count);
    loop.Settle();
  }
  EXPECT_TRUE(console.full());
  EXPECT_LT(written, 1'000'000u);
  const size_t lines = written / line.size();
  const std::string shown = Shown(lines * (line.size() + 3));
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(shown, '\n')), lines);
  EXPECT_TRUE(console.idle());
}

TEST_F(ProgramOutputTest, WhereNobodyReadsAnyMoreItIsDropped) {
  Pipe pipe = MakePipe();
  const auto output = Output(std::move(pipe.read_end), "0: ");
  screen.read_end.Reset();
  Write(pipe.write_end, "a\n");
  loop.Settle();
  EXPECT_TRUE(console.idle());
  EXPECT_EQ(output->Tail(), "a");
}

// As a program's standard error without --label.
TEST_F(ProgramOutputTest, EveryByteOfALongStreamPasses) {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * 7 + i / 256);
  Pipe pipe = MakePipe();
  const auto output = Output(std::move(pipe.read_end), std::nullopt);
  std::string shown;
  size_t written = 0;
  EXPECT_TRUE(loop.Until([&] {
    const ssize_t count = write(pipe.write_end.get(), bytes.data() + written, bytes.size() - written);
    if (count > 0) written += static_cast<size_t>(count);
    shown += ReadSome(screen.read_end.get());
    loop->After(std::chrono::milliseconds(1), [] {});
    return shown.size() >= bytes.size();
  }));
  EXPECT_TRUE(shown == bytes);
}

// A process that the program has left behind is not stopped by a full pipe.
TEST_F(ProgramOutputTest, AfterTheRestThePipeIsReadOn) {
  Pipe pipe = MakePipe();
  const auto output = Output(std::move(pipe.read_end), std::nullopt);
  Write(pipe.write_end, "rest\n");
  output->TakeRest();
  EXPECT_EQ(ReadSome(screen.read_end.get()), "rest\n");
  for (int i = 0; i < 3; ++i) {
    Write(pipe.write_end, "of another process\n");
    EXPECT_EQ(Shown(19), "of another process\n");
  }
  output->Stop();
  EXPECT_EQ(write(pipe.write_end.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
}

// `muster launch --label -- yes | head -1`
TEST_F(ProgramOutputTest, TheProgramsPipeClosesWithItsReader) {
  Pipe pipe = MakePipe();
  const auto output = Output(std::move(pipe.read_end), "0: ", nullptr, true);
  screen.read_end.Reset();
  EXPECT_TRUE(loop.Until([&] {
    loop->After(std::chrono::milliseconds(1), [] {});
    return write(pipe.write_end.get(), "y\n", 2) < 0;
  }));
  EXPECT_EQ(errno, EPIPE);
}

// Its file system stalls: the program waits, and this thread does not.
TEST_F(ProgramOutputTest, AFileThatIsFullStopsTheProgram) {
  Console log_file(
      {*loop, stalled_files, losses, OutputKind::kLogFile, "the file"},
      UniqueFd(open((testing::TempDir() + "/stalled").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
  Pipe pipe = MakePipe();
  const auto output = Output(std::move(pipe.read_end), std::nullopt, &log_file);
  const std::string much(4096, 'x');
  size_t written = 0;
  size_t shown = 0;
  for (int idle = 0; idle < 50;) {
    const ssize_t count = write(pipe.write_end.get(), much.data(), much.size());
    idle = count > 0 ? 0 : idle + 1;
    if (count > 0) written += static_cast<size_t>(count);
    loop.Settle();
    shown += ReadSome(screen.read_end.get()).size();
  }
  EXPECT_TRUE(log_file.full());
  EXPECT_LT(written, 1'000'000u);
  while (stalled_files.held() > 0) {
    stalled_files.RunNext();
    loop.Settle();
    shown += ReadSome(screen.read_end.get()).size();
  }
  EXPECT_EQ(shown, written);
  EXPECT_TRUE(log_file.idle());
}

TEST_F(ProgramOutputTest, AFileThatStallsStopsTheProgramIfOurStreamIsOftenFull) {
  Pipe pipe = MakePipe();
  Console log_file(
      {*loop, stalled_files, losses, OutputKind::kLogFile, "the file"},
      UniqueFd(open((testing::TempDir() + "/stalled").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
  const auto output = Output(std::move(pipe.read_end), std::nullopt, &log_file);
  const std::string much(4096, 'x');
  size_t written = 0;
  for (int idle = 0; idle < 50 && written < 3'000'000;) {
    const ssize_t count = write(pipe.write_end.get(), much.data(), much.size());
    idle = count > 0 ? 0 : idle + 1;
    if (count > 0) written += static_cast<size_t>(count);
    loop.Settle();
    if (console.full()) ReadSome(screen.read_end.get());
  }
  EXPECT_TRUE(log_file.full());
  EXPECT_LT(written, 1'000'000u);
  while (stalled_files.held() > 0) {
    stalled_files.RunNext();
    loop.Settle();
  }
}

}  // namespace
}  // namespace muster::output
