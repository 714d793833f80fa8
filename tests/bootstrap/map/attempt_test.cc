#include "bootstrap/map/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

#include "bootstrap/process/descendants.h"
#include "tests/bootstrap/map/commands.h"

namespace {

// Of a file system that reports then that a quota is used up.
bool quota_is_used_up = false;
// Of the monotonic clock, and how often it was read since.
std::atomic<int> seconds_ahead = 0;
std::atomic<int> clock_reads = 0;

}  // namespace

// In the place of the C library's.
extern "C" {
int fsync(int fd) {
  if (!quota_is_used_up) return static_cast<int>(syscall(SYS_fsync, fd));
  errno = EDQUOT;
  return -1;
}
int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_MONOTONIC) time->tv_sec += seconds_ahead;
  ++clock_reads;
  return result;
}
}

namespace muster::map {
namespace {

using Kind = AttemptEnd::Kind;
using testing::EndsWith;
using testing::StartsWith;

class Attempts : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(process::BecomeSubreaper()); }
  void TearDown() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }
};

TEST_F(Attempts, LeaveADirectoryWithTheStreams) {
  const Commands commands("echo to out; echo to err >&2; echo {item} >result; pwd -P");
  const auto end = commands.Run();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, Kind::kDone);
  EXPECT_EQ(end->text, R"({"exit":0,"directory":"i0"})");
  EXPECT_EQ(commands.folder.Read("out/i0/result"), "i0\n");
  EXPECT_EQ(commands.folder.Read("out/i0/stderr"), "to err\n");
  EXPECT_THAT(commands.folder.Read("out/i0/stdout"), StartsWith("to out\n"));
  EXPECT_THAT(commands.folder.Read("out/i0/stdout"), EndsWith("out/.attempts/run/i0.1.5\n"));
  EXPECT_FALSE(commands.folder.Has("out/.attempts/run/i0.1.5"));
}

TEST_F(Attempts, HaveVariablesOfTheItem) {
  Commands commands(
      "echo $MUSTER_ITEM $MUSTER_ITEM_KEY $MUSTER_ITEM_INDEX $MUSTER_SLOT $A; test $PWD = {dir} && "
      "test $MUSTER_ITEM_DIR = {dir} && ! read line && test $MUSTER_ITEM_ATTEMPT = 3");
  commands.plan.variables.emplace_back("A",
                                       *ItemTemplate::Parse("A", "${rank}-{node}", *commands.source, true));
  const auto end = commands.Run({}, 0, 3);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, Kind::kDone) << end->text;
  EXPECT_EQ(commands.folder.Read("out/i0/stdout"), "i0 i0 0 0 5-gpu01\n");
}

// Linux starts no program with a longer variable or argument.
TEST_F(Attempts, OfAnItemOfMoreThan127KiBHaveNoVariableWithIt) {
  Commands commands("echo ${{MUSTER_ITEM-none}} $MUSTER_ITEM_KEY | tail -c 1000");
  SourceItem item = *commands.source->Read(0);
  const auto run = [&](size_t length) {
    item.text = std::string(length, 'x');
    NextDirectory next(commands.plan.output, commands.plan.run, commands.plan.rank, commands.slot.number);
    const auto end = RunAttempt(commands.plan, commands.slot, item, 1, StopFlag(), next);
    return end ? end->text : end.error().message;
  };
  constexpr size_t kLongest = size_t{127} << 10;
  const std::string done = R"({"exit":0,"directory":"i0"})";
  EXPECT_EQ(run(kLongest), done);
  EXPECT_THAT(commands.folder.Read("out/i0/stdout"), EndsWith("xxx i0\n"));
  EXPECT_EQ(run(kLongest + 1), done);
  EXPECT_EQ(commands.folder.Read("out/i0/stdout"), "none i0\n");
  commands.plan.command =
      *ParseTemplates("the command", {"echo", std::string(size_t{128} << 10, 'x')}, *commands.source);
  EXPECT_EQ(
      run(1),
      "cannot start \"echo\": Argument list too long (an argument or a variable has at most 128 KiB, all "
      "together a quarter of ulimit -s: give the program {key} or {index} instead of a long text) (files: " +
          commands.folder.File("out/.failed/i0") + ")");
}

TEST_F(Attempts, ThatFailSayWhyAndKeepTheirFiles) {
  const Commands commands("echo half >result; echo no model >&2; exit 3");
  const auto end = commands.Run();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, Kind::kFailed);
  EXPECT_EQ(end->text, "exit 3 (files: " + commands.folder.File("out/.failed/i0") + ")\nno model");
  EXPECT_EQ(commands.folder.Read("out/.failed/i0/result"), "half\n");
  EXPECT_FALSE(commands.folder.Has("out/i0"));
}

// The next ones would fail as well, which no start would try again.
TEST_F(Attempts, ThatFailForAQuotaAreNoFailuresOfTheirItem) {
  const Commands commands("echo Disk quota exceeded >&2; exit 1");
  quota_is_used_up = true;
  const auto end = commands.Run();
  quota_is_used_up = false;
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message,
            "no space is left in " + commands.folder.File("out") + ": item i0 ended with exit 1");
  EXPECT_FALSE(commands.folder.Has("out/.failed/i0"));
  EXPECT_FALSE(commands.folder.Has("out/.attempts/run/i0.1.5"));
}

// The last lines of such a file are not waited for.
TEST_F(Attempts, MayReplaceTheirStreamsByPipes) {
  const Commands commands("rm stdout stderr; mkfifo stdout stderr; exit 3");
  const auto end = commands.Run();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->text, "exit 3 (files: " + commands.folder.File("out/.failed/i0") + ")");
}

TEST_F(Attempts, ThatReplaceAStreamByALinkShowNothingOfItsTarget) {
  const Commands commands("rm stderr; echo secret >file; ln -s file stderr; echo from stdout; exit 3");
  const auto end = commands.Run();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->text, "exit 3 (files: " + commands.folder.File("out/.failed/i0") + ")\nfrom stdout");
}

TEST_F(Attempts, ThatSucceedLaterRemoveTheFilesOfTheFailure) {
  const Commands commands("test {attempt} = 2");
  EXPECT_EQ(commands.Run({}, 0, 1)->kind, Kind::kFailed);
  EXPECT_TRUE(commands.folder.Has("out/.failed/i0"));
  EXPECT_EQ(commands.Run({}, 0, 2)->kind, Kind::kDone);
  EXPECT_FALSE(commands.folder.Has("out/.failed/i0"));
  EXPECT_TRUE(commands.folder.Has("out/i0/stdout"));
}

TEST_F(Attempts, ReplaceAResultThatWasNotCommitted) {
  const Commands commands("echo new >result");
  std::filesystem::create_directories(commands.folder.File("out/i0"));
  for (const char* name : {"old", "stdout", "stderr"})
    commands.folder.Write(std::string("out/i0/") + name, name);
  EXPECT_EQ(commands.Run()->kind, Kind::kDone);
  EXPECT_FALSE(commands.folder.Has("out/i0/old"));
  EXPECT_EQ(commands.folder.Read("out/i0/result"), "new\n");
  EXPECT_FALSE(commands.folder.Has("out/.attempts/run/i0.1.5"));
}

// A checkpoint that the map evaluates, its OUTPUT being the directory of all checkpoints.
TEST_F(Attempts, LeaveWhatIsNoResult) {
  const Commands commands("touch {pwd}/ran");
  const std::string place = commands.folder.File("out/i0");
  const auto expect_refused = [&] {
    const auto end = commands.Run();
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->kind, Kind::kFailed);
    EXPECT_EQ(end->text,
              place + " exists and is no result of a map (move it away, or choose another map.output)");
    EXPECT_FALSE(commands.folder.Has("ran"));
  };
  std::filesystem::create_directories(place);
  commands.folder.Write("out/i0/weights", "precious");
  expect_refused();
  EXPECT_EQ(commands.folder.Read("out/i0/weights"), "precious");
  commands.folder.Write("out/i0/stdout", "");
  expect_refused();
  std::filesystem::create_directory(place + "/stderr");
  expect_refused();
  std::filesystem::remove_all(place);
  std::filesystem::create_directory_symlink(commands.folder.path(), place);
  expect_refused();
  std::filesystem::remove(place);
  commands.folder.Write("out/i0", "");
  expect_refused();
}

TEST_F(Attempts, LeaveWhatCameWhileTheirProgramRan) {
  const Commands commands("mkdir {pwd}/out/i0; echo precious >{pwd}/out/i0/weights");
  const auto end = commands.Run();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, Kind::kFailed);
  EXPECT_EQ(end->text,
            "exit 0, but " + commands.folder.File("out/i0") +
                " exists and is no result of a map (move it away, or choose another map.output) (files: " +
                commands.folder.File("out/.failed/i0") + ")");
  EXPECT_EQ(commands.folder.Read("out/i0/weights"), "precious\n");
}

TEST_F(Attempts, ReplaceAnEmptyDirectory) {
  const Commands commands("echo new >result");
  std::filesystem::create_directories(commands.folder.File("out/i0"));
  EXPECT_EQ(commands.Run()->kind, Kind::kDone);
  EXPECT_EQ(commands.folder.Read("out/i0/result"), "new\n");
}

TEST_F(Attempts, WithoutTheirProgramHaveFailed) {
  Commands commands("");
  commands.plan.command = *ParseTemplates("the command", {"no-such-{item}"}, *commands.source);
  const auto end = commands.Run();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, Kind::kFailed);
  EXPECT_THAT(end->text, StartsWith("cannot start \"no-such-i0\": No such file or directory"));
}

TEST_F(Attempts, FindAProgramByItsPathFromWhereMusterBegan) {
  Commands commands("");
  commands.folder.Write("tool", "#!/bin/sh\necho tool\n");
  std::filesystem::permissions(commands.folder.File("tool"), std::filesystem::perms::owner_all);
  commands.plan.command = *ParseTemplates("the command", {"./tool"}, *commands.source);
  EXPECT_EQ(commands.Run()->kind, Kind::kDone);
  EXPECT_EQ(commands.folder.Read("out/i0/stdout"), "tool\n");
}

TEST_F(Attempts, EndAtTheirLimitWithAllThatTheyStarted) {
  Commands commands("echo $$ >{pwd}/pids; setsid sh -c 'echo $$ >>{pwd}/pids; exec sleep 1000' & sleep 1000");
  commands.plan.timeout = std::chrono::milliseconds(300);
  const auto end = commands.Run();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, Kind::kFailed);
  EXPECT_THAT(end->text, StartsWith("not finished after 300ms (map.timeout) (files: "));
  EXPECT_TRUE(process::ChildProcesses()->empty());
}

// `scontrol suspend`: the program was suspended as well.
TEST_F(Attempts, HaveTheirTimeAfterASuspension) {
  Commands commands("touch {pwd}/up; until test -e {pwd}/go; do sleep 0.01; done");
  commands.plan.timeout = std::chrono::hours(1);
  std::thread suspension([&] {
    while (!commands.folder.Has("up")) std::this_thread::yield();
    seconds_ahead = 7200;
    // The attempt reads the clock twice after each sleep.
    const int reads = clock_reads;
    while (clock_reads < reads + 3) std::this_thread::yield();
    commands.folder.Write("go", "");
  });
  const auto end = commands.Run();
  suspension.join();
  seconds_ahead = 0;
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->kind, Kind::kDone) << end->text;
}

TEST_F(Attempts, ThatIgnoreSigtermAreKilledAfterTheGrace) {
  Commands commands("trap '' TERM; while :; do sleep 0.01; done");
  commands.plan.timeout = std::chrono::milliseconds(100);
  commands.plan.grace = std::chrono::milliseconds(100);
  EXPECT_EQ(commands.Run()->kind, Kind::kFailed);
  EXPECT_TRUE(process::ChildProcesses()->empty());
}

TEST_F(Attempts, LeaveNothingBehindThatTheyStarted) {
  const Commands commands("sleep 1000 & setsid setsid sleep 1000 & exit 0");
  EXPECT_EQ(commands.Run()->kind, Kind::kDone);
  EXPECT_TRUE(process::ChildProcesses()->empty());
}

TEST_F(Attempts, OfOtherSlotsStayWhenOneEnds) {
  const Commands commands("if test {item} = i0; then setsid sleep 1000 & sleep 1000; fi; touch {pwd}/up", {},
                          2);
  const StopFlag stop;
  std::thread other([&] { EXPECT_EQ(commands.Run(stop, 0)->kind, Kind::kInterrupted); });
  const auto quick = commands.Run(stop, 1);
  EXPECT_EQ(quick->kind, Kind::kDone);
  stop.Raise();
  other.join();
  EXPECT_TRUE(process::ChildProcesses()->empty());
}

TEST_F(Attempts, OfAllSlotsReceiveASignal) {
  const Commands commands(
      "trap 'echo received; exit 0' USR1; touch {pwd}/{item}; while kill -0 $PPID; do sleep 0.01; done", {},
      2);
  std::thread other([&] { EXPECT_EQ(commands.Run({}, 1)->kind, Kind::kDone); });
  std::thread signal([&] {
    while (!commands.folder.Has("i0") || !commands.folder.Has("i1")) std::this_thread::yield();
    commands.plan.programs->Signal(SIGUSR1);
  });
  EXPECT_EQ(commands.Run({}, 0)->kind, Kind::kDone);
  other.join();
  signal.join();
  for (const char* name : {"out/i0/stdout", "out/i1/stdout"})
    EXPECT_EQ(commands.folder.Read(name), "received\n");
  commands.plan.programs->Signal(SIGUSR1);  // none is left
}

TEST(ProgramsAtWork, ReceiveASignalThatComesDuringTheirStart) {
  ProgramsAtWork programs;
  ProgramsAtWork::Entry entry(programs);
  programs.Signal(SIGUSR1);
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  ASSERT_EQ(setpgid(child, child), 0);
  entry.HasStarted(child);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
}

TEST_F(Attempts, AreInterruptedByTheFlagWithoutATrace) {
  const Commands commands("touch {pwd}/up; sleep 1000");
  const StopFlag stop;
  std::thread stopper([&] {
    while (!commands.folder.Has("up")) std::this_thread::yield();
    stop.Raise();
  });
  const auto end = commands.Run(stop);
  stopper.join();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, Kind::kInterrupted);
  EXPECT_TRUE(std::filesystem::is_empty(commands.folder.File("out/.attempts/run")));
}

// Some schedulers send the signal to the programs as well.
TEST_F(Attempts, ThatEndByTheSignalOfTheRankAreInterrupted) {
  const Commands commands("kill -TERM $$");
  const StopFlag stop;
  stop.Raise();
  EXPECT_EQ(commands.Run(stop)->kind, Kind::kInterrupted);
}

TEST_F(Attempts, MustWriteWhatIsExpected) {
  const Commands commands(
      R"(echo '{{"acc": {{"norm": 0.5}}, "a.b": [1, null]}}' >s.json; echo x >{item}.txt)",
      {"{item}.txt", "*.json", "s.json:acc.norm", "s.json:a.b.0"});
  const auto end = commands.Run();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->text, R"({"exit":0,"directory":"i0","values":{"s.json:acc.norm":0.5,"s.json:a.b.0":1}})");
}

TEST_F(Attempts, ThatLackWhatIsExpectedHaveFailed) {
  const std::string line = R"(echo '{{"a": null, "l": [1]}}' >s.json; : >empty; echo no >text)";
  const auto failed = [&](const std::string& expected) {
    const auto end = Commands(line, {expected}).Run();
    if (!end) return end.error().message;
    EXPECT_EQ(end->kind, Kind::kFailed) << expected;
    return end->text.substr(0, end->text.find(" (files"));
  };
  EXPECT_EQ(failed("scores.json"), "exit 0, but scores.json does not exist");
  EXPECT_EQ(failed("empty"), "exit 0, but empty is empty");
  EXPECT_EQ(failed("*.csv"), "exit 0, but no file matches *.csv");
  EXPECT_EQ(failed("s.json:a"), "exit 0, but a in s.json is null");
  EXPECT_EQ(failed("s.json:l.1"), "exit 0, but s.json has no l.1");
  EXPECT_EQ(failed("text:a"), "exit 0, but text is not JSON");
}

// It is no fault of the item: the rank can attempt nothing.
TEST_F(Attempts, WithoutADirectoryAreAnErrorOfTheRank) {
  Commands commands("true");
  commands.plan.output = commands.folder.Write("file", "");
  const auto end = commands.Run();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::kSystem);
  EXPECT_EQ(end.error().message, "cannot use " + commands.plan.output + ": Not a directory");
}

// As by the next run, if this one was stopped and wakes.
TEST_F(Attempts, WhoseDirectoryWasRemovedAreAnErrorOfTheRank) {
  const Commands commands(R"(rm -r "$MUSTER_ITEM_DIR")");
  const auto end = commands.Run();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "the directory " + commands.folder.File("out/.attempts/run/i0.1.5") +
                                     " was removed while its program ran");
}

TEST_F(Attempts, AreNotBegunWithoutTheirProgram) {
  Commands commands("true");
  EXPECT_TRUE(CheckProgram(commands.plan, commands.slot));
  commands.plan.command = *ParseTemplates("the command", {"no-such-program"}, *commands.source);
  EXPECT_EQ(CheckProgram(commands.plan, commands.slot).error().hint,
            "add its directory to PATH, or write its path");
  commands.plan.command = *ParseTemplates("the command", {"{item}"}, *commands.source);
  EXPECT_TRUE(CheckProgram(commands.plan, commands.slot));
}

TEST_F(Attempts, HaveADirectoryThatWasMadeDuringTheOneBefore) {
  const Commands commands("echo of {item}; until test -e ../next-5-0/stderr; do sleep 0.01; done", {}, 2);
  NextDirectory next(commands.plan.output, commands.plan.run, commands.plan.rank, commands.slot.number);
  const StopFlag stop;
  for (uint64_t item : {0, 1}) {
    const auto end = RunAttempt(commands.plan, commands.slot, *commands.source->Read(item), 1, stop, next);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->kind, Kind::kDone);
  }
  EXPECT_EQ(commands.folder.Read("out/i0/stdout"), "of i0\n");
  EXPECT_EQ(commands.folder.Read("out/i1/stdout"), "of i1\n");
  EXPECT_TRUE(commands.folder.Has("out/i1/stderr"));
}

TEST(NextDirectory, IsLeftOutIfItCannotBeMade) {
  const Folder folder;
  std::filesystem::create_directories(folder.File("out/.attempts/run/next-5-0"));
  NextDirectory next(folder.File("out"), "run", 5, 0);
  next.Prepare();
  const auto directory = AttemptDirectory::Create(folder.File("out"), "run", "a", 1, 5, next);
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_TRUE(folder.Has("out/.attempts/run/a.1.5"));
}

TEST(NextDirectory, IsRemovedIfNoAttemptFollows) {
  const Folder folder;
  std::filesystem::create_directories(folder.File("out/.attempts/run"));
  {
    NextDirectory next(folder.File("out"), "run", 5, 0);
    next.Prepare();
    EXPECT_TRUE(folder.Has("out/.attempts/run/next-5-0/stdout"));
  }
  EXPECT_FALSE(folder.Has("out/.attempts/run/next-5-0"));
}

TEST(OldAttempts, OfTheSameJournalAreRemoved) {
  const Folder folder;
  const std::string run = RunName("/journal", "run");
  const std::string old = "out/.attempts/" + RunName("/journal", "old");
  const std::string other = "out/.attempts/" + RunName("/another", "run");
  const std::string own = "out/.attempts/" + run + "/b.1.0";
  for (const std::string& name : {old + "/a.1.0/x", other + "/a.1.0", own, std::string("out/a")})
    std::filesystem::create_directories(folder.File(name));
  RemoveOldAttempts(folder.File("out"), run);
  EXPECT_FALSE(folder.Has(old));
  EXPECT_TRUE(folder.Has(other + "/a.1.0")) << "of a map that may be at work";
  EXPECT_TRUE(folder.Has(own));
  EXPECT_TRUE(folder.Has("out/a"));
  RemoveAttemptsOf(folder.File("out"), run);
  EXPECT_TRUE(folder.Has(own));
}

TEST(NextDirectory, OfARankThatEndsLaterIsRemovedWithTheRun) {
  const Folder folder;
  std::filesystem::create_directories(folder.File("out/.attempts/run"));
  NextDirectory next(folder.File("out"), "run", 5, 0);
  next.Prepare();
  RemoveAttemptsOf(folder.File("out"), "run");
  EXPECT_FALSE(folder.Has("out/.attempts"));
}

}  // namespace
}  // namespace muster::map
