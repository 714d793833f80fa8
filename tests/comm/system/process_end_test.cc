#include "comm/system/process_end.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <string>
#include <utility>

namespace muster {
namespace {

// A process that lives until it is killed or its pipe closes.
class Waiting {
 public:
  Waiting() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[1]);
      char byte = 0;
      [[maybe_unused]] const ssize_t closed = read(ends[0], &byte, 1);
      _exit(0);
    }
    close(ends[0]);
    hold_.Reset(ends[1]);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    hold_.Reset();
    Reap();
  }
  pid_t pid() const { return pid_; }
  void Kill() const { kill(pid_, SIGKILL); }
  void Reap() {
    if (std::exchange(reaped_, true)) return;
    EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
  }

 private:
  pid_t pid_ = -1;
  UniqueFd hold_;
  bool reaped_ = false;
};

Deadline Soon() { return Deadline::After(std::chrono::seconds(20)); }
Deadline Now() { return Deadline::After(Duration::zero()); }

TEST(ProcessEnd, OfAKilledProcess) {
  Waiting other;
  const ProcessEnd end = ProcessEnd::Of(other.pid());
  EXPECT_FALSE(end.HasEnded());
  EXPECT_FALSE(end.Await(Deadline::After(std::chrono::milliseconds(20))));
  other.Kill();
  EXPECT_TRUE(end.Await(Soon())) << "a zombie has ended";
  other.Reap();
  EXPECT_TRUE(end.HasEnded());
}

TEST(ProcessEnd, OfOneThatIsGoneAlready) {
  Waiting other;
  other.Kill();
  other.Reap();
  EXPECT_TRUE(ProcessEnd::Of(other.pid()).Await(Now()));
}

TEST(ProcessEnd, OfThisProcess) { EXPECT_FALSE(ProcessEnd::Of(getpid()).HasEnded()); }

// The same text except for the fields that count.
std::string Stat(const std::string& name, const std::string& state, const std::string& threads) {
  return "4711 (" + name + ") " + state + " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0 " + threads +
         " 0 12345 0 0\n";
}

TEST(IsStatOfEnded, ByStateAndThreads) {
  EXPECT_TRUE(IsStatOfEnded(Stat("cat", "Z", "1")));
  EXPECT_TRUE(IsStatOfEnded(Stat("cat", "X", "0")));
  EXPECT_FALSE(IsStatOfEnded(Stat("cat", "R", "1")));
  EXPECT_FALSE(IsStatOfEnded(Stat("cat", "T", "1")));
  EXPECT_FALSE(IsStatOfEnded(Stat("cat", "Z", "2"))) << "only its first thread has ended";
  EXPECT_FALSE(IsStatOfEnded(Stat("odd) Z 1 (name", "S", "1")));
}

TEST(IsStatOfExiting, ByTheFlagOfTheKernel) {
  const std::string before = "4711 (odd) Z 1 (cat) R 1 4711 4711 0 -1 ";
  EXPECT_TRUE(IsStatOfExiting(before + "4194308 0 0"));
  EXPECT_TRUE(IsStatOfExiting(before + "4"));
  EXPECT_FALSE(IsStatOfExiting(before + "4194304 4 4"));
  for (const char* text : {"", "4711 (cat) R 1 2 3 4 5", "4711 (cat) R 1 2 3 4 5 x"}) {
    EXPECT_FALSE(IsStatOfExiting(text)) << text;
  }
}

TEST(IsStatOfEnded, OfNonsenseIsFalse) {
  for (const char* text : {"", "4711", "4711 (cat) Z", "4711 (cat) Z 1 2 3", ") Z"}) {
    EXPECT_FALSE(IsStatOfEnded(text)) << text;
  }
}

}  // namespace
}  // namespace muster
