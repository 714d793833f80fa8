#include "bootstrap/process/end_request.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace muster::process {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kGrace = seconds(10);
const Clock::time_point kStart = Clock::time_point() + hours(1);

EndSignal ByHand(int number, pid_t sender = 1) { return {number, sender, false, true}; }
EndSignal CtrlC() { return {SIGINT, 0, true, true}; }
EndSignal FromScheduler(int number) { return {number, 7, false, false}; }

struct Event {
  std::optional<EndSignal> signal;  // absent: run.grace is over
  EndStep step;
  bool wait_begins;
};
EndSignal At(EndSignal signal, pid_t sender) {
  signal.sender = sender;
  return signal;
}

// Each event comes five seconds after the one before, from another sender.
void Check(const std::string& name, const std::vector<Event>& events) {
  EndRequest request(kGrace);
  Clock::time_point now = kStart;
  pid_t sender = 100;
  for (size_t i = 0; i < events.size(); ++i) {
    now += seconds(5);
    const int wait = request.wait_number();
    const EndStep step =
        events[i].signal ? request.Take(At(*events[i].signal, ++sender), now) : request.OnGraceOver();
    EXPECT_EQ(step, events[i].step) << name << ", event " << i;
    EXPECT_EQ(request.wait_number() != wait, events[i].wait_begins) << name << ", event " << i;
  }
}

TEST(EndRequest, ByTime) {
  Check("INT", {{ByHand(SIGINT), EndStep::kPassOn, true},
                {{}, EndStep::kTerminate, true},
                {{}, EndStep::kKill, false}});
  Check("HUP", {{ByHand(SIGHUP), EndStep::kPassOn, true},
                {{}, EndStep::kTerminate, true},
                {{}, EndStep::kKill, false}});
  Check("TERM", {{ByHand(SIGTERM), EndStep::kPassOn, true}, {{}, EndStep::kKill, false}});
  Check("QUIT", {{ByHand(SIGQUIT), EndStep::kPassOn, false}});
}

TEST(EndRequest, ByFurtherSignals) {
  Check("Ctrl-C four times", {{CtrlC(), EndStep::kPassOn, true},
                              {CtrlC(), EndStep::kTerminate, true},
                              {CtrlC(), EndStep::kKill, false},
                              {CtrlC(), EndStep::kNothing, false}});
  Check(
      "INT after the first grace",
      {{CtrlC(), EndStep::kPassOn, true}, {{}, EndStep::kTerminate, true}, {CtrlC(), EndStep::kKill, false}});
  Check("TERM is told once", {{ByHand(SIGTERM), EndStep::kPassOn, true},
                              {ByHand(SIGTERM), EndStep::kNothing, false},
                              {{}, EndStep::kKill, false},
                              {ByHand(SIGTERM), EndStep::kNothing, false}});
  Check("INT, then TERM", {{ByHand(SIGINT), EndStep::kPassOn, true},
                           {ByHand(SIGTERM), EndStep::kPassOn, true},
                           {{}, EndStep::kKill, false}});
  Check("QUIT in between", {{CtrlC(), EndStep::kPassOn, true},
                            {ByHand(SIGQUIT), EndStep::kPassOn, false},
                            {CtrlC(), EndStep::kTerminate, true}});
  Check("HUP only by time", {{ByHand(SIGHUP), EndStep::kPassOn, true},
                             {ByHand(SIGHUP), EndStep::kPassOn, false},
                             {{}, EndStep::kTerminate, true}});
}

TEST(EndRequest, BelowASchedulerEverySignalIsPassedOnAndNothingMore) {
  Check("INT", {{FromScheduler(SIGINT), EndStep::kPassOn, true},
                {FromScheduler(SIGINT), EndStep::kPassOn, false},
                {{}, EndStep::kReport, false},
                {FromScheduler(SIGTERM), EndStep::kPassOn, true},
                {{}, EndStep::kReport, false}});
  Check("QUIT", {{FromScheduler(SIGQUIT), EndStep::kPassOn, false}});
  Check("then a person's", {{FromScheduler(SIGTERM), EndStep::kPassOn, true},
                            {CtrlC(), EndStep::kPassOn, true},
                            {{}, EndStep::kTerminate, true},
                            {{}, EndStep::kKill, false}});
}

// timeout(1) signals its child twice; a key that is held down repeats.
TEST(EndRequest, OneRequestThatArrivesTwiceIsOne) {
  EndRequest by_process(kGrace);
  EXPECT_EQ(by_process.Take(ByHand(SIGINT), kStart), EndStep::kPassOn);
  EXPECT_EQ(by_process.Take(ByHand(SIGINT), kStart + milliseconds(900)), EndStep::kNothing);
  EXPECT_EQ(by_process.Take(ByHand(SIGINT, 2), kStart + milliseconds(950)), EndStep::kTerminate);
  EXPECT_EQ(by_process.Take(ByHand(SIGINT, 2), kStart + milliseconds(2000)), EndStep::kKill);

  EndRequest by_key(kGrace);
  EXPECT_EQ(by_key.Take(CtrlC(), kStart), EndStep::kPassOn);
  EXPECT_EQ(by_key.Take(CtrlC(), kStart + milliseconds(100)), EndStep::kNothing);
  EXPECT_EQ(by_key.Take(CtrlC(), kStart + milliseconds(400)), EndStep::kTerminate);
}

// Otherwise repeated signals put off the end for ever.
TEST(EndRequest, RepeatedSignalsDoNotBeginTheWaitAgain) {
  EndRequest request(kGrace);
  request.Take(ByHand(SIGTERM), kStart);
  const int wait = request.wait_number();
  request.Take(ByHand(SIGTERM), kStart + seconds(5));
  request.Take(ByHand(SIGQUIT), kStart + seconds(6));
  request.Take(ByHand(SIGHUP), kStart + seconds(7));
  EXPECT_EQ(request.wait_number(), wait);
  EndRequest below(kGrace);
  below.Take(FromScheduler(SIGTERM), kStart);
  const int first = below.wait_number();
  below.Take(FromScheduler(SIGTERM), kStart + seconds(5));
  EXPECT_EQ(below.wait_number(), first);
}

struct EndCase {
  const char* name;
  EndSignal signal;
  int graces;      // how often run.grace passed before the end
  ChildExit exit;  // of the program
  Duration after;  // the signal
  bool as_requested;
  bool by_signal;
  int status;
};

TEST(EndRequest, Judges) {
  const std::vector<EndCase> cases = {
      {"Ctrl-C", CtrlC(), 0, {0, SIGINT}, milliseconds(1), true, true, 130},
      {"Ctrl-C, as a shell puts it", CtrlC(), 0, {130, 0}, milliseconds(1), true, true, 130},
      {"Ctrl-C, a program's own status", CtrlC(), 0, {1, 0}, seconds(1), true, false, 1},
      {"Ctrl-C, then terminated", CtrlC(), 1, {0, SIGTERM}, seconds(10), true, true, 130},
      {"Ctrl-C, then killed", CtrlC(), 2, {0, SIGKILL}, seconds(20), true, true, 130},
      {"Ctrl-C, killed by another", CtrlC(), 0, {0, SIGKILL}, seconds(1), true, false, 137},
      {"TERM", ByHand(SIGTERM), 0, {0, SIGTERM}, seconds(1), true, true, 143},
      {"TERM, then killed", ByHand(SIGTERM), 1, {0, SIGKILL}, seconds(10), true, true, 143},
      {"a thread dump, then a failure", FromScheduler(SIGQUIT), 0, {1, 0}, hours(1), false, false, 1},
      {"a thread dump by hand, then a failure", ByHand(SIGQUIT), 0, {1, 0}, seconds(11), false, false, 1},
      {"QUIT", ByHand(SIGQUIT), 0, {0, SIGQUIT}, seconds(1), true, true, 131},
      {"QUIT, a program's own status", ByHand(SIGQUIT), 0, {1, 0}, seconds(9), true, false, 1},
      {"Slurm's TERM", FromScheduler(SIGTERM), 0, {0, SIGTERM}, seconds(1), true, true, 143},
      {"a checkpoint, then the end", FromScheduler(SIGTERM), 1, {1, 0}, seconds(100), true, false, 1},
      {"a checkpoint, later a failure", FromScheduler(SIGTERM), 1, {1, 0}, hours(1), false, false, 1},
      {"a checkpoint, later killed", FromScheduler(SIGTERM), 1, {0, SIGKILL}, hours(1), false, false, 137},
      {"INT outlived", FromScheduler(SIGINT), 1, {1, 0}, hours(1), false, false, 1},
      {"HUP outlived", FromScheduler(SIGHUP), 1, {1, 0}, hours(1), false, false, 1},
  };
  for (const EndCase& c : cases) {
    EndRequest request(kGrace);
    request.Take(c.signal, kStart);
    for (int i = 0; i < c.graces; ++i) request.OnGraceOver();
    const EndRequest::Verdict verdict = request.Judge(c.exit, kStart + c.after);
    EXPECT_EQ(verdict.as_requested, c.as_requested) << c.name;
    EXPECT_EQ(verdict.by_signal, c.by_signal) << c.name;
    EXPECT_EQ(verdict.exit_status, c.status) << c.name;
  }
}

TEST(EndRequest, WithoutASignalNothingIsExplained) {
  const EndRequest request(kGrace);
  EXPECT_FALSE(request.Explains(kStart));
  const EndRequest::Verdict verdict = request.Judge({0, SIGTERM}, kStart);
  EXPECT_FALSE(verdict.as_requested);
  EXPECT_EQ(verdict.exit_status, 143);
}

// A thread dump while the run ends does not shorten the time that the end may take.
TEST(EndRequest, AThreadDumpReplacesNoRequestToEnd) {
  EndRequest request(kGrace);
  request.Take(FromScheduler(SIGTERM), kStart);
  request.Take(FromScheduler(SIGQUIT), kStart + seconds(5));
  EXPECT_EQ(request.Explains(kStart + seconds(60)), SIGTERM);
}

TEST(EndRequest, ALongGraceCountsWhole) {
  EndRequest request(hours(1));
  request.Take(FromScheduler(SIGTERM), kStart);
  EXPECT_EQ(request.Explains(kStart + minutes(50)), SIGTERM);
}

TEST(DescribeRequest, NamesTheSignalAndTheRank) {
  EXPECT_EQ(DescribeRequest(SIGINT, ""), "interrupted (SIGINT)");
  EXPECT_EQ(DescribeRequest(SIGTERM, "rank 3 on gpu02"), "terminated: rank 3 on gpu02 received SIGTERM");
}

TEST(EndRequest, ASecondSigtermIsSpared) {
  EndRequest request(kGrace);
  EXPECT_FALSE(request.JustTerminated(kStart));
  request.Take(FromScheduler(SIGTERM), kStart);
  EXPECT_TRUE(request.JustTerminated(kStart + milliseconds(900)));
  EXPECT_FALSE(request.JustTerminated(kStart + seconds(2)));
  EndRequest interrupted(kGrace);
  interrupted.Take(FromScheduler(SIGINT), kStart);
  EXPECT_FALSE(interrupted.JustTerminated(kStart));
}

}  // namespace
}  // namespace muster::process
