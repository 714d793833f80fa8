#include "bootstrap/process/captured.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "bootstrap/process/descendants.h"
#include "tests/comm/base/print_error.h"

namespace muster::process {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(20)); }

Result<std::string> CaptureShell(const std::string& script, Deadline deadline = Soon()) {
  return Capture({"helper", {"/bin/sh"}, {"-c", script}, {"PATH=/usr/bin:/bin"}, 65536}, deadline);
}

Error ErrorOf(const Result<std::string>& result) { return result ? Error{} : result.error(); }

TEST(Capture, GivesWhatItPrints) { EXPECT_EQ(CaptureShell("echo hello"), "hello\n"); }

TEST(Capture, SaysHowItEnded) {
  EXPECT_EQ(ErrorOf(CaptureShell("echo why >&2; exit 3")),
            (Error{Code::kSystem, "helper ended with 3: why", ""}));
  EXPECT_EQ(ErrorOf(CaptureShell("kill -SEGV $$")),
            (Error{Code::kSystem, "helper was killed by signal 11", ""}));
}

TEST(Capture, AnEndAfterItsOutputIsWaitedFor) {
  EXPECT_EQ(ErrorOf(CaptureShell("echo out; exec >&- 2>&-; sleep 0.2; exit 3")),
            (Error{Code::kSystem, "helper ended with 3", ""}));
}

// A supervisor reaps in its own thread whatever ends below it.
TEST(Capture, AReaperBesideItTakesNoStatus) {
  std::atomic<bool> over = false;
  std::thread reaper([&] {
    while (!over) ReapOrphans();
  });
  for (int round = 0; round < 50; ++round) {
    const auto text = CaptureShell("exit 3");
    EXPECT_EQ(ErrorOf(text), (Error{Code::kSystem, "helper ended with 3", ""}));
  }
  over = true;
  reaper.join();
}

// As in a program that links muster and leaves its children to the kernel.
TEST(Capture, AStatusThatTheKernelHasDroppedIsNamed) {
  signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(
      ErrorOf(CaptureShell("echo hello")),
      (Error{Code::kSystem,
             "the exit status of helper is lost: this process ignores SIGCHLD, or waits for every child",
             ""}));
  signal(SIGCHLD, SIG_DFL);
}

}  // namespace
}  // namespace muster::process
