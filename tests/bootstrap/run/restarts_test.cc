#include "bootstrap/run/restarts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "tests/comm/base/folder.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::run {
namespace {

rendezvous::JoinRequest OfARestartedJob() {
  rendezvous::JoinRequest request;
  request.meeting.key = "slurm uid=1 job=4 step=0";
  request.meeting.job_key = "slurm uid=1 job=4 step=0 size=3 restart=2";
  request.self.agreement.job_key = request.meeting.job_key;
  request.self.agreement.restart = 2;
  request.self.agreement.configuration = "timeouts.init=1m\n";
  return request;
}

TEST(CountRestarts, LeavesTheFirstGroupAsItIs) {
  rendezvous::JoinRequest request = OfARestartedJob();
  CountRestarts(0, 3, request);
  EXPECT_EQ(request.meeting.key, "slurm uid=1 job=4 step=0");
  EXPECT_EQ(request.self.agreement.restart, 2);
  EXPECT_EQ(request.self.agreement.configuration, "timeouts.init=1m\nmax-restarts=3\n");
}

TEST(CountRestarts, KeepsTheNextGroupApart) {
  rendezvous::JoinRequest request = OfARestartedJob();
  CountRestarts(1, 3, request);
  EXPECT_EQ(request.meeting.key, "slurm uid=1 job=4 step=0 again=1");
  EXPECT_EQ(request.meeting.job_key, "slurm uid=1 job=4 step=0 size=3 restart=2 again=1");
  EXPECT_EQ(request.self.agreement.job_key, request.meeting.job_key);
  EXPECT_EQ(request.self.agreement.restart, 3);
}

class RestartsTest : public testing::Test {
 protected:
  // A world of one, whose program exits with the next of these.
  Result<int> Run(int most, const std::vector<int>& codes) {
    return RunWithRestarts(most, [&, this](int restarts) -> Result<SupervisorPlan> {
      plans.push_back(restarts);
      SupervisorPlan plan;
      plan.command = {"/bin/sh", "-c", "exit " + std::to_string(codes.at(static_cast<size_t>(restarts)))};
      plan.node = "gpu01";
      return plan;
    });
  }

  std::vector<int> plans;
};

TEST_F(RestartsTest, NoneAfterSuccess) {
  EXPECT_EQ(Run(3, {0, 1}), 0);
  EXPECT_EQ(plans, (std::vector<int>{0}));
}

TEST_F(RestartsTest, UntilTheProgramSucceeds) {
  EXPECT_EQ(Run(5, {3, 4, 0, 9}), 0);
  EXPECT_EQ(plans, (std::vector<int>{0, 1, 2}));
}

TEST_F(RestartsTest, GiveTheLastExitStatus) {
  EXPECT_EQ(Run(2, {3, 4, 5, 0}), 5);
  EXPECT_EQ(plans, (std::vector<int>{0, 1, 2}));
}

TEST_F(RestartsTest, EndWithAPlanThatCannotBeMade) {
  const auto status =
      RunWithRestarts(1, [](int) -> Result<SupervisorPlan> { return Fail(Code::kUsage, "no plan"); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "no plan");
}

// Each in a process of its own: a supervisor reaps every child of its process. Their exit statuses.
template <typename Run>
std::array<int, 2> StatusesOf(const Run& run) {
  std::array<pid_t, 2> processes{};
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    processes.at(rank) = fork();
    if (processes.at(rank) != 0) continue;
    const Result<int> status = run(rank);
    _exit(status ? *status : ExitStatus(status.error().code));
  }
  std::array<int, 2> statuses{};
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    int status = 0;
    EXPECT_EQ(waitpid(processes.at(rank), &status, 0), processes.at(rank));
    statuses.at(rank) = WEXITSTATUS(status);
  }
  return statuses;
}

// A restart that one rank cannot plan: the other would wait for it until its deadline.
TEST(Restarts, EndWithARankThatCannotPlanItsPart) {
  const std::vector<rendezvous::JoinRequest> requests = rendezvous::MakeRequests({"a", "b"});
  const auto run = [&requests](size_t rank, bool fails) {
    return RunWithRestarts(1, [&](int restarts) -> Result<SupervisorPlan> {
      if (fails && restarts == 1) return Fail(Code::kAuthentication, "no secret");
      SupervisorPlan plan;
      plan.command = {"/bin/sh", "-c", "exit 3"};
      plan.node = requests[rank].self.node;
      plan.join = requests[rank];
      CountRestarts(restarts, 1, *plan.join);
      return plan;
    });
  };
  EXPECT_EQ(StatusesOf([&run](size_t rank) { return run(rank, rank == 1); }),
            (std::array{ExitStatus(Code::kAuthentication), ExitStatus(Code::kAuthentication)}));
}

// Rank 1 ends with 0 in the first attempt, and rank 0 fails after that.
TEST(Restarts, HaveARankThatHadEnded) {
  const std::vector<rendezvous::JoinRequest> requests = rendezvous::MakeRequests({"a", "b"});
  const Folder folder;
  const std::string ended = folder.File("ended");
  ASSERT_EQ(mkfifo(ended.c_str(), 0600), 0);
  const std::array<std::string, 2> programs = {
      "read -r pid <" + ended + "; while grep -q . /proc/$pid/cmdline; do sleep 0.01; done; exit 5",
      "echo $$ >" + ended};
  EXPECT_EQ(StatusesOf([&](size_t rank) {
              return RunWithRestarts(1, [&](int restarts) -> Result<SupervisorPlan> {
                SupervisorPlan plan;
                plan.command = {"/bin/sh", "-c", restarts == 0 ? programs.at(rank) : "exit 0"};
                plan.node = requests[rank].self.node;
                plan.join = requests[rank];
                CountRestarts(restarts, 1, *plan.join);
                return plan;
              });
            }),
            (std::array{0, 0}));
}

// Rank 1's program sends it when it is ended because of rank 0's failure.
TEST(Restarts, PassOnASignalThatCameBetweenTwoAttempts) {
  const std::vector<rendezvous::JoinRequest> requests = rendezvous::MakeRequests({"a", "b"});
  const Folder folder;
  const std::string ready = folder.File("ready");
  const std::string supervisor = folder.File("supervisor");
  ASSERT_EQ(mkfifo(ready.c_str(), 0600), 0);
  const std::array<std::string, 2> programs = {
      "read -r _ <" + ready + "; echo $PPID >" + supervisor + "; exit 5",
      "trap 'kill -USR1 $(cat " + supervisor + "); exit 5' TERM; echo >" + ready +
          "; while :; do sleep 0.01; done"};
  EXPECT_EQ(StatusesOf([&](size_t rank) {
              return RunWithRestarts(1, [&](int restarts) -> Result<SupervisorPlan> {
                SupervisorPlan plan;
                plan.command = {"/bin/sh", "-c", restarts == 0 ? programs.at(rank) : "exec sleep 20"};
                plan.node = requests[rank].self.node;
                plan.join = requests[rank];
                CountRestarts(restarts, 1, *plan.join);
                return plan;
              });
            }),
            (std::array{128 + SIGUSR1, 128 + SIGUSR1}));
}

// The root's program ends only after run.grace, and the rank that failed meets long before.
TEST(Restarts, AwaitRanksWhoseProgramsStillEnd) {
  const std::vector<rendezvous::JoinRequest> requests = rendezvous::MakeRequests({"a", "b"});
  const Folder folder;
  const std::string ready = folder.File("ready");
  ASSERT_EQ(mkfifo(ready.c_str(), 0600), 0);
  const std::array<std::string, 2> programs = {"trap '' TERM; echo >" + ready + "; exec sleep 300",
                                               "read -r _ <" + ready + "; exit 5"};
  EXPECT_EQ(StatusesOf([&](size_t rank) {
              return RunWithRestarts(1, [&](int restarts) -> Result<SupervisorPlan> {
                SupervisorPlan plan;
                plan.config.run.grace = std::chrono::seconds(2);
                plan.command = {"/bin/sh", "-c", restarts == 0 ? programs.at(rank) : "exit 0"};
                plan.node = requests[rank].self.node;
                plan.join = requests[rank];
                if (restarts > 0) plan.join->timeouts.rendezvous = std::chrono::milliseconds(500);
                CountRestarts(restarts, 1, *plan.join);
                return plan;
              });
            }),
            (std::array{0, 0}));
}

}  // namespace
}  // namespace muster::run
