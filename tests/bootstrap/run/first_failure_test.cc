// The rank that failed first is named, although its failure is reported after another.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "bootstrap/run/supervisor.h"
#include "bootstrap/run/verdict/run_verdict.h"
#include "comm/rendezvous/survey/process_state.h"
#include "tests/comm/base/folder.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::run {
namespace {

const Clock::time_point kStart = Clock::time_point() + std::chrono::hours(1);

constexpr process::ChildExit kExit1{1, 0};

RunVerdict VerdictOfNode() {
  RunFacts facts;
  facts.grace = std::chrono::seconds(10);
  facts.alone = false;
  RunVerdict verdict(facts);
  rendezvous::FormedGroup group;
  group.roster.nodes.push_back({"n0", {}});
  for (int local = 0; local < 3; ++local) group.roster.members.push_back({0, local, 100 + local, {}});
  verdict.Formed(group, {0, 1, 2});
  return verdict;
}

// A program that writes a core dump ends long after its connections.
TEST(FirstFailure, IsOfTheRankWhoseConnectionsClosedFirst) {
  RunVerdict verdict = VerdictOfNode();
  verdict.own().Lost(1);
  verdict.own().Lost(2);
  EXPECT_EQ(verdict.ProgramEnded({2, kExit1}, false, kStart), RunSteps{}) << "closed as well, but later";
  EXPECT_EQ(verdict.ProgramEnded({0, kExit1}, false, kStart), RunSteps{});
  EXPECT_TRUE(verdict.may_report());
  EXPECT_EQ(verdict.ProgramEnded({1, {0, SIGSEGV}}, true, kStart), RunSteps{RunStep::kReport});
  EXPECT_EQ(verdict.own().first()->rank, 1);
}

// Each program received the signal, and one closes its connections before it writes a checkpoint.
TEST(FirstFailure, OnRequestIsOfTheRankThatExitsFirst) {
  RunVerdict verdict = VerdictOfNode();
  verdict.request().Take({SIGTERM, 1, false, false}, kStart);
  verdict.own().Lost(1);
  EXPECT_EQ(verdict.ProgramEnded({0, {0, SIGTERM}}, false, kStart), RunSteps{RunStep::kReport});
}

// The wait for its exit status was over while the failure of rank 1 was on its way.
TEST(FirstFailure, OfARankThatIsLostIsAwaitedAgainOnceAnotherIsExcused) {
  RunVerdict verdict = VerdictOfNode();
  verdict.own().Lost(1);
  verdict.own().Lost(2);
  EXPECT_EQ(verdict.ProgramEnded({1, {0, SIGTERM}}, false, kStart), RunSteps{RunStep::kReportSoon});
  EXPECT_FALSE(verdict.may_report());
  EXPECT_EQ(verdict.Excuse(1, false), RunSteps{RunStep::kAwaitLost});
  EXPECT_EQ(verdict.own().LostRanks(), std::vector<int>{2});
  EXPECT_TRUE(verdict.may_report());
  EXPECT_EQ(verdict.Excuse(2, false), RunSteps{});
  EXPECT_EQ(verdict.own().LostRanks(), std::vector<int>{});
}

// While a map is at work, which goes on without it.
TEST(FirstFailure, IsNotOfAnExcusedRank) {
  RunVerdict verdict = VerdictOfNode();
  verdict.own().Lost(1);
  EXPECT_EQ(verdict.ProgramEnded({0, kExit1}, false, kStart), RunSteps{});
  EXPECT_EQ(verdict.Excuse(1, false), RunSteps{RunStep::kReport});
  EXPECT_EQ(verdict.own().first()->rank, 0);
}

pid_t Supervise(const rendezvous::JoinRequest& request, const std::string& program) {
  const pid_t supervisor = fork();
  if (supervisor != 0) return supervisor;
  SupervisorPlan plan;
  plan.command = {"/bin/sh", "-c", program};
  plan.node = request.self.node;
  plan.join = request;
  const Result<int> status = Supervisor(std::move(plan)).Run();
  _exit(status ? *status : ExitStatus(status.error().code));
}

// Its supervisor waits: perhaps the signal comes to it as well. The program on the other node fails meanwhile.
TEST(FirstFailure, IsOfTheProgramThatASignalEnded) {
  const std::vector<rendezvous::JoinRequest> requests = rendezvous::MakeRequests({"a", "b"});
  const Folder folder;
  const std::string number = folder.File("number");
  const std::string go = folder.File("go");
  for (const std::string& fifo : {number, go}) ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0) << strerror(errno);
  const pid_t root = Supervise(requests[0], "read -r line <" + go + "; exit 3");
  const pid_t other = Supervise(requests[1], "echo $$ >" + number + "; kill $$");
  pid_t killed = 0;
  ASSERT_TRUE(std::ifstream(number) >> killed);
  const auto state_of = [](pid_t pid) {
    const auto state = rendezvous::LookAtProcess(pid);
    return state ? state->state : 'Z';
  };
  while (state_of(killed) != 'Z') continue;
  // Its supervisor has noticed its end.
  while (state_of(other) != 'S' && state_of(other) != 'Z') continue;
  std::ofstream(go) << "\n";
  for (const pid_t supervisor : {root, other}) {
    int status = 0;
    ASSERT_EQ(waitpid(supervisor, &status, 0), supervisor);
    EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  }
}

}  // namespace
}  // namespace muster::run
