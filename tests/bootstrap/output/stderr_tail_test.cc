#include "bootstrap/output/stderr_tail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "tests/bootstrap/output/pipe.h"
#include "tests/bootstrap/process/finish_child.h"

namespace muster::output {
namespace {

constexpr auto kEnough = std::chrono::seconds(20);

// As an event loop would do it; false if nothing happens within 20 s.
bool PumpToTheEnd(StderrTail& tail) {
  while (!tail.ended()) {
    const auto interest = tail.interest();
    struct pollfd ready {
      interest.fd, interest.events, 0
    };
    if (poll(&ready, 1, Deadline::After(kEnough).PollMilliseconds()) != 1) return false;
    tail.Pump();
  }
  return true;
}

// Every byte value, many times the size of any buffer on the way.
std::string Binary() {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * 7 + i / 256);
  return bytes;
}

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    struct pollfd ready {
      fd, POLLOUT, 0
    };
    if (poll(&ready, 1, Deadline::After(kEnough).PollMilliseconds()) != 1) return;
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
}

TEST(StderrTail, PassesEveryByteUnchanged) {
  Pipe program = MakePipe();
  Pipe ours = MakePipe();
  const std::string bytes = Binary();
  std::thread writer([&] {
    WriteAll(program.write_end.get(), bytes);
    program.write_end.Reset();
  });
  std::string arrived;
  std::thread reader([&] { arrived = process::ReadAll(ours.read_end.get()); });
  StderrTail tail(std::move(program.read_end), ours.write_end.get());
  EXPECT_TRUE(PumpToTheEnd(tail));
  ours.write_end.Reset();
  writer.join();
  reader.join();
  EXPECT_EQ(arrived == bytes, true) << arrived.size() << " of " << bytes.size();
  EXPECT_EQ(tail.interest().fd, -1);
}

// A descriptor that is closed while an event loop polls it may be another file's by the time that it is forgotten.
TEST(StderrTail, KeepsThePipeOpenBeyondItsEnd) {
  Pipe program = MakePipe();
  Pipe ours = MakePipe();
  const int polled = program.read_end.get();
  {
    StderrTail tail(std::move(program.read_end), ours.write_end.get());
    EXPECT_EQ(tail.interest().fd, polled);
    program.write_end.Reset();
    tail.Pump();
    EXPECT_TRUE(tail.ended());
    EXPECT_EQ(tail.interest().fd, -1);
    EXPECT_EQ(fcntl(polled, F_GETFD), FD_CLOEXEC);
  }
  EXPECT_EQ(fcntl(polled, F_GETFD), -1);
}

TEST(StderrTail, CarriesARealProgramIntoAFile) {
  const std::string path = testing::TempDir() + "/stderr.txt";
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const auto child = Started(process::Shell("printf 'one\\ntwo\\n' >&2; printf '\\377\\000' >&2"));
  StderrTail tail(child->TakeStderr(), file.get());
  EXPECT_TRUE(PumpToTheEnd(tail));
  EXPECT_TRUE(process::Finish(*child).ok());
  std::ifstream written(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), std::string("one\ntwo\n\377\0", 10));
  EXPECT_EQ(tail.Tail(), "one\ntwo\n\\xff\\x00");
}

// epoll refuses a regular file; there is never a reason to wait for one.
TEST(StderrTail, NeverAsksToWaitForAFile) {
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  Pipe program = MakePipe();
  StderrTail tail(std::move(program.read_end), null.get());
  for (int i = 0; i < 10; ++i) {
    WriteAll(program.write_end.get(), "x");
    EXPECT_EQ(tail.interest().events, POLLIN);
    tail.Pump();
  }
  EXPECT_EQ(tail.Tail(), "xxxxxxxxxx");
}

TEST(StderrTail, WaitsForOursInsteadOfBlockingOrReadingOn) {
  Pipe program = MakePipe();
  Pipe ours = MakePipe();
  const std::string filling(4096, 'f');
  size_t filled = 0;
  for (ssize_t n = 0; (n = write(ours.write_end.get(), filling.data(), filling.size())) > 0;) {
    filled += static_cast<size_t>(n);
  }
  fcntl(ours.write_end.get(), F_SETFL,
        0);  // blocking, as a standard error is: a wrong write would hang the test
  StderrTail tail(std::move(program.read_end), ours.write_end.get());
  WriteAll(program.write_end.get(), "late");
  tail.Pump();
  EXPECT_EQ(tail.interest().fd, ours.write_end.get());
  EXPECT_EQ(tail.interest().events, POLLOUT);
  EXPECT_EQ(tail.Tail(), "");
  std::string drained(filled, '\0');
  ASSERT_EQ(read(ours.read_end.get(), drained.data(), drained.size()), static_cast<ssize_t>(filled));
  tail.Pump();
  EXPECT_EQ(tail.interest().events, POLLIN);
  EXPECT_EQ(tail.Tail(), "late");
  ASSERT_EQ(read(ours.read_end.get(), drained.data(), drained.size()), 4);
}

TEST(StderrTail, ReadsOnWhereOursIsGone) {
  const auto before = signal(SIGPIPE, SIG_IGN);
  Pipe program = MakePipe();
  Pipe ours = MakePipe();
  ours.read_end.Reset();
  StderrTail tail(std::move(program.read_end), ours.write_end.get());
  for (int i = 0; i < 3; ++i) {
    WriteAll(program.write_end.get(), "x\n");
    tail.Pump();
  }
  program.write_end.Reset();
  EXPECT_TRUE(PumpToTheEnd(tail));
  EXPECT_EQ(tail.Tail(), "x\nx\nx");
  signal(SIGPIPE, before);
}

TEST(StderrTail, DrainsWithoutWaitingForAProcessThatHoldsThePipe) {
  const auto child = Started(process::Shell("sleep 1000 & echo last words >&2; exit 1"));
  Pipe ours = MakePipe();
  StderrTail tail(child->TakeStderr(), ours.write_end.get());
  ASSERT_TRUE(process::AwaitExit(*child));
  tail.BeginRest();
  EXPECT_TRUE(tail.PumpRest());
  EXPECT_EQ(tail.interest().fd, -1);
  EXPECT_EQ(tail.Tail(), "last words");
  EXPECT_FALSE(tail.ended());
  char buffer[64];
  EXPECT_EQ(read(ours.read_end.get(), buffer, sizeof buffer), 11);
  ASSERT_TRUE(child->Exited());
  EXPECT_TRUE(child->Signal(SIGKILL));
}

TEST(StderrTail, DrainsAllThatIsThere) {
  Pipe program = MakePipe();
  Pipe ours = MakePipe();
  const std::string bytes(60'000, 'x');
  WriteAll(program.write_end.get(), bytes);
  program.write_end.Reset();
  StderrTail tail(std::move(program.read_end), ours.write_end.get());
  tail.BeginRest();
  EXPECT_TRUE(tail.PumpRest());
  ours.write_end.Reset();
  EXPECT_EQ(process::ReadAll(ours.read_end.get()), bytes);
}

TEST(StderrTail, TheRestWaitsForOursAndIsKeptWhenItIsAbandoned) {
  Pipe program = MakePipe();
  Pipe ours = MakePipe();
  const std::string filling(4096, 'f');
  size_t filled = 0;
  for (ssize_t n = 0; (n = write(ours.write_end.get(), filling.data(), filling.size())) > 0;) {
    filled += static_cast<size_t>(n);
  }
  StderrTail tail(std::move(program.read_end), ours.write_end.get());
  for (int i = 0; i < 2500; ++i) WriteAll(program.write_end.get(), "x\n");
  WriteAll(program.write_end.get(), "seen\n");
  tail.BeginRest();
  EXPECT_FALSE(tail.PumpRest());
  EXPECT_EQ(tail.interest().fd, ours.write_end.get());
  EXPECT_EQ(tail.interest().events, POLLOUT);
  WriteAll(program.write_end.get(), "of another process\n");  // after the end
  std::string drained(filled, '\0');
  ASSERT_EQ(read(ours.read_end.get(), drained.data(), 4096), 4096);
  EXPECT_FALSE(tail.PumpRest());
  tail.Abandon();
  EXPECT_TRUE(tail.PumpRest());
  EXPECT_EQ(tail.interest().fd, -1);
  EXPECT_TRUE(tail.Tail().ends_with("x\nseen")) << tail.Tail();
  // One page of it went out while there was room.
  ASSERT_EQ(read(ours.read_end.get(), drained.data(), drained.size()), static_cast<ssize_t>(filled));
  EXPECT_EQ(read(ours.read_end.get(), drained.data(), drained.size()), -1);
}

}  // namespace
}  // namespace muster::output
