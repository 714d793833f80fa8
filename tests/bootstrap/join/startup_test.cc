#include "bootstrap/join/startup.h"

#include <gtest/gtest.h>

#include "bootstrap/join/local_join.h"
#include "bootstrap/resolve/detect.h"
#include "comm/log/log.h"
#include "tests/bootstrap/resolve/launches.h"

namespace muster::join {
namespace {

using resolve::Torchrun;

Environment Live(const std::string& text) {
  return Environment::FromText(text)->AsProcess({.pid = 77, .parent = 1, .uid = 1000, .host_name = "n1"});
}

rendezvous::JoinRequest MustRequest(const std::string& text) {
  const Environment environment = Live(text);
  const auto resolution = resolve::Resolve(environment, {});
  EXPECT_TRUE(resolution);
  auto request = MakeJoinRequest(environment, {}, {}, *resolution);
  EXPECT_TRUE(request);
  return *std::move(request);
}

// torchrun --rdzv-id "x restart=1": a word of the user's, not the count of the agents.
TEST(MakeJoinRequest, TakesNoRestartFromTheNameOfALaunch) {
  const std::string worker = Torchrun(3, 4, 1, 2, 1, 2);
  const auto named = [&](const std::string& id) {
    std::string text = worker;
    const size_t at = text.find("TORCHELASTIC_RUN_ID=");
    text.erase(at, text.find('\n', at) - at + 1);
    return text + "TORCHELASTIC_RUN_ID=" + id + "\nTORCHELASTIC_RESTART_COUNT=2\n";
  };
  EXPECT_EQ(MustRequest(named("x")).self.agreement.restart, 0);
  EXPECT_EQ(MustRequest(named("x restart=1")).self.agreement.restart, 0);
}

TEST(MakeJoinRequest, AMapHasNoTreeOfLeaders) {
  const Environment environment = Live(Torchrun(3, 4, 1, 2, 1, 2));
  const auto resolution = resolve::Resolve(environment, {});
  ASSERT_TRUE(resolution);
  StartOptions asked;
  EXPECT_EQ(MakeJoinRequest(environment, {}, asked, *resolution)->fan_out, rendezvous::kFanOut);
  asked.group_only = true;
  EXPECT_EQ(MakeJoinRequest(environment, {}, asked, *resolution)->fan_out, 0);
}

// 2048 equal lines would hide all others.
TEST(StartUp, OneRankOfANodeLogsTheWarningsOfItsConfiguration) {
  const auto logged = [](int rank, int local) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(StartUp(
        Live(Torchrun(rank, 4, local, 2, 1, 2) + "MUSTER_TIMEOUT_INIT=5s\nMUSTER_LOG_TIME=none\n"), {}));
    FlushLog(Deadline::Never());
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(logged(2, 0),
            "muster: rank 2 on n1: warning: MUSTER_TIMEOUT_INIT is not a setting of muster; did you mean "
            "MUSTER_TIMEOUTS_INIT?\n");
  EXPECT_EQ(logged(3, 1), "");
  SetLogSubject({});
}

TEST(StartUp, OneRankOfANodeLogsTheWarningsOfItsTuple) {
  const auto logged = [](int rank, int local) {
    std::string variables = Torchrun(rank, 4, local, 2, 1, 2) + "MUSTER_LOG_TIME=none\n";
    const size_t port = variables.find("MASTER_PORT=");
    variables.erase(port, variables.find('\n', port) + 1 - port);
    testing::internal::CaptureStderr();
    EXPECT_TRUE(StartUp(Live(variables), {}));
    FlushLog(Deadline::Never());
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(logged(2, 0), "");
  EXPECT_EQ(
      logged(3, 1),
      "muster: rank 3 on n1: warning: MASTER_ADDR=n1 is ignored, because MASTER_PORT is not set: set both\n");
  SetLogSubject({});
}

// One process that stands for several ranks is a process of the same job.
TEST(MakeLocalJoin, HasWhatEveryRequestHas) {
  const std::string end = "SLURM_JOB_END_TIME=" + std::to_string(time(nullptr) + 300) + "\n";
  const Environment environment = Live(end);
  config::Config config;
  config.timeouts.rendezvous = std::chrono::hours(10);
  const rendezvous::JoinRequest local = MakeLocalJoin(environment, config, "slurm:9.1:0");
  EXPECT_EQ(local.job, "slurm:9.1:0");
  EXPECT_LT(local.timeouts.rendezvous, std::chrono::minutes(6));
  EXPECT_EQ(local.self.agreement.backend, "auto");
  EXPECT_TRUE(local.named_by_host);
  EXPECT_TRUE(local.sole);
  EXPECT_FALSE(local.shared_directories.empty());
  const auto nodes = MakeJoinOfNodes(environment, config, {"n1", 61000}, false, 1, 2, "launch:n1:61000:0");
  ASSERT_TRUE(nodes);
  EXPECT_EQ(nodes->job, "launch:n1:61000:0");
  EXPECT_FALSE(nodes->sole);
  EXPECT_LT(nodes->timeouts.rendezvous, std::chrono::minutes(6));
  EXPECT_EQ(nodes->meeting.endpoint, (Endpoint{"n1", 61000}));
}

// Not all machines of --hosts need to have the variables of a job.
TEST(MakeJoinOfNodes, WithAnyPortHasOneLadderOnAllMachines) {
  const config::Config config;
  const Environment in_job = Live("SLURM_JOB_ID=9\n");
  const Environment outside = Live("");
  const auto first = MakeJoinOfNodes(in_job, config, {"n1", 61000}, true, 0, 2, "launch:n1:61000:0");
  const auto second = MakeJoinOfNodes(outside, config, {"n1", 61000}, true, 1, 2, "launch:n1:61000:0");
  const auto other = MakeJoinOfNodes(outside, config, {"n1", 61001}, true, 1, 2, "launch:n1:61001:0");
  ASSERT_TRUE(first && second && other);
  EXPECT_EQ(first->meeting.endpoint, (Endpoint{"n1", 0}));
  EXPECT_EQ(first->meeting, second->meeting);
  EXPECT_NE(first->meeting.key, other->meeting.key);
}

}  // namespace
}  // namespace muster::join
