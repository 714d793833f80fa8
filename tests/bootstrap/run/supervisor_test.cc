#include "bootstrap/run/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/comm/rendezvous/test_group.h"

namespace muster::run {
namespace {

std::string MakeFifo(const std::string& name) {
  const std::string path = testing::TempDir() + "/" + name;
  unlink(path.c_str());
  EXPECT_EQ(mkfifo(path.c_str(), 0600), 0) << strerror(errno);
  return path;
}

pid_t Supervise(const rendezvous::JoinRequest& request, const std::string& program,
                const std::string& report) {
  const pid_t supervisor = fork();
  if (supervisor != 0) return supervisor;
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
  const std::string report = testing::TempDir() + "/held.json";
  std::filesystem::remove(report);
  const std::string number = MakeFifo("number");
  const std::string go = MakeFifo("go");
  const pid_t root = Supervise(requests[0], "read -r line <" + go + "; exit 3", report);
  const pid_t other = Supervise(requests[1], "echo $$ >" + number + "; exec sleep 300", report);
  pid_t held = 0;
  ASSERT_TRUE(std::ifstream(number) >> held);
  ASSERT_EQ(ptrace(PTRACE_SEIZE, held, nullptr, PTRACE_O_TRACEEXIT), 0) << strerror(errno);
  std::ofstream(go) << "\n";
  for (const pid_t supervisor : {root, other}) {
    int status = 0;
    ASSERT_EQ(waitpid(supervisor, &status, 0), supervisor);
    EXPECT_EQ(WEXITSTATUS(status), 3);
  }
  std::ifstream file(report);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(written, testing::ContainsRegex("\"outcome\": ?\"killed\""));
  waitpid(held, nullptr, __WALL);
  ptrace(PTRACE_DETACH, held, nullptr, nullptr);
}

}  // namespace
}  // namespace muster::run
