#include "bootstrap/run/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/comm/base/folder.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::run {
namespace {

std::string MakeFifo(const std::string& path) {
  EXPECT_EQ(mkfifo(path.c_str(), 0600), 0) << strerror(errno);
  return path;
}

// `clock`: the file by which its clock is ahead.
pid_t Supervise(const rendezvous::JoinRequest& request, const std::string& program, const std::string& report,
                const std::string& clock) {
  const pid_t supervisor = fork();
  if (supervisor != 0) return supervisor;
  setenv("CLOCK_AHEAD", clock.c_str(), 1);
  SupervisorPlan plan;
  plan.config.run.grace = std::chrono::milliseconds(200);
  plan.config.run.report = report;
  plan.command = {"/bin/sh", "-c", program};
  plan.node = request.self.node;
  plan.join = request;
  const Result<int> status = Supervisor(std::move(plan)).Run();
  _exit(status ? *status : ExitStatus(status.error().code));
}

// The test traces it and holds it in its exit: SIGKILL does not end it.
TEST(Supervisor, TheRootAwaitsTheEndOfAProgramOfAnotherNodeThatSigkillDoesNotEnd) {
  const std::vector<rendezvous::JoinRequest> requests = rendezvous::MakeRequests({"a", "b"});
  const Folder folder;
  const std::string report = folder.File("report.json");
  const std::string number = MakeFifo(folder.File("number"));
  const std::string go = MakeFifo(folder.File("go"));
  const pid_t root = Supervise(requests[0], "read -r line <" + go + "; exit 3", report, "");
  const pid_t other =
      Supervise(requests[1], "echo $$ >" + number + "; exec sleep 300", report, folder.File("clock"));
  pid_t held = 0;
  ASSERT_TRUE(std::ifstream(number) >> held);
  ASSERT_EQ(ptrace(PTRACE_SEIZE, held, nullptr, PTRACE_O_TRACEEXIT), 0) << strerror(errno);
  std::ofstream(go) << "\n";
  // SIGTERM stops a traced process, too.
  for (int status = 0; status >> 8 != (SIGTRAP | PTRACE_EVENT_EXIT << 8);) {
    ASSERT_EQ(waitpid(held, &status, __WALL), held) << strerror(errno);
  }
  // It has waited for the program as long as it does; the signal wakes it.
  folder.Write("clock", std::string(10, ' '));
  kill(other, SIGCHLD);
  for (const pid_t supervisor : {root, other}) {
    int status = 0;
    ASSERT_EQ(waitpid(supervisor, &status, 0), supervisor);
    EXPECT_EQ(WEXITSTATUS(status), 3);
  }
  EXPECT_THAT(ContentOf(report), testing::ContainsRegex("\"outcome\": ?\"killed\""));
  ptrace(PTRACE_DETACH, held, nullptr, nullptr);
}

// A signal to all processes of a launch ends one of them first: the others exited with 69, for a lost rank.
TEST(Supervisor, ASignalWhileTheGroupFormsIsTheReasonForAllRanks) {
  for (const bool root_is_signalled : {false, true}) {
    const std::vector<rendezvous::JoinRequest> requests = rendezvous::MakeRequests({"a", "b", "c"});
    const size_t signalled = root_is_signalled ? 0 : 1;
    const pid_t supervisor = Supervise(requests[signalled], "true", "", "");
    net::TestLoop loop;
    rendezvous::TestRank other(*loop, requests[1 - signalled]);
    other.Start();
    ASSERT_TRUE(loop.Until([&] { return root_is_signalled ? other.accepted() : other.Arrived(1); }));
    kill(supervisor, SIGTERM);
    ASSERT_TRUE(loop.Until([&] { return other.ended(); }));
    ASSERT_TRUE(other.refused());
    EXPECT_EQ(other.refused()->error.message, root_is_signalled ? "terminated: rank 0 on a received SIGTERM"
                                                                : "terminated: rank 1 on b received SIGTERM");
    EXPECT_EQ(other.refused()->exit_status, 128 + SIGTERM);
    EXPECT_TRUE(other.refused()->as_requested);
    int status = 0;
    ASSERT_EQ(waitpid(supervisor, &status, 0), supervisor);
    EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  }
}

}  // namespace
}  // namespace muster::run
