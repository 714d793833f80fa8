#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "comm/rendezvous/control/control_plane.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/control/control_plane_fixture.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr LivenessOptions kFast{milliseconds(20), milliseconds(60), milliseconds(200)};

using ControlPlaneLivenessTest = ControlPlaneTest;

// A rank in a process of its own, which ends once the group has formed. Its forked worker holds every
// connection open until the test closes hold[1].
pid_t StartRankWithWorker(const JoinRequest& request, const int (&hold)[2]) {
  const pid_t process = fork();
  if (process != 0) return process;
  close(hold[1]);
  net::TestLoop loop;
  TestRank rank(*loop, request);
  rank.Start();
  loop->RunUntil([&] { return rank.ended(); }, Deadline::After(seconds(10)));
  if (fork() == 0) {
    char byte = 0;
    [[maybe_unused]] const ssize_t ended = read(hold[0], &byte, 1);
    _exit(0);
  }
  // The message that is written last arrives first.
  loop.Settle();
  _exit(0);
}

// A rank in a process of its own, which stands still once the group has formed: its connections stay. It goes on only to report its
// own group's failure.
class RankThatFreezes {
 public:
  explicit RankThatFreezes(const JoinRequest& request) {
    EXPECT_EQ(pipe(reports_), 0);
    process_ = fork();
    if (process_ != 0) return;
    net::TestLoop loop;
    TestRank rank(*loop, request);
    rank.Start();
    loop->RunUntil([&] { return rank.ended(); }, Deadline::After(seconds(10)));
    loop.Settle();
    raise(SIGSTOP);
    loop->RunUntil([&] { return !rank.failures.empty(); }, Deadline::After(seconds(10)));
    const std::string text = rank.failures.empty() ? "none" : rank.failures.front().error.message;
    [[maybe_unused]] const ssize_t written = write(reports_[1], text.data(), text.size());
    _exit(0);
  }
  RankThatFreezes(const RankThatFreezes&) = delete;
  RankThatFreezes& operator=(const RankThatFreezes&) = delete;
  pid_t pid() const { return process_; }
  std::string FailureAfterwards() {
    kill(process_, SIGCONT);
    char text[1000];
    const ssize_t count = read(reports_[0], text, sizeof text);
    return {text, count > 0 ? static_cast<size_t>(count) : 0};
  }
  ~RankThatFreezes() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    close(reports_[0]);
    close(reports_[1]);
  }

 private:
  pid_t process_ = 0;
  int reports_[2] = {-1, -1};
};

TEST_F(ControlPlaneLivenessTest, ASilentNodeIsNamed) {
  auto requests = MakeRequests({"a", "a", "b", "b", "c"});
  for (JoinRequest& request : requests) request.liveness = kFast;
  const RankThatFreezes last(requests[4]);
  requests.pop_back();
  group = std::make_unique<TestGroup>(loop, requests);
  EXPECT_TRUE(group->AllFormed());
  ASSERT_TRUE(loop.Until([&] { return !rank(0).failures.empty(); }));
  EXPECT_TRUE(group->AllToldOf(rank(0).failures.front().error));
  EXPECT_THAT(rank(0).failures.front().error.message,
              testing::MatchesRegex("rank 4 on c fell silent: no message for [0-9]+.[0-9] s"));
  EXPECT_EQ(rank(0).failures.front().rank, 4);
  // It is not asked for a confirmation: that would take the five seconds in which all must have answered.
  const auto named = Clock::now();
  ASSERT_TRUE(loop.Until([&] { return rank(0).everyone_knows == 1 && rank(3).everyone_knows == 1; }));
  EXPECT_LT(Clock::now() - named, seconds(4));
}

TEST_F(ControlPlaneLivenessTest, ASilentRootIsNamed) {
  auto requests = MakeRequests({"a", "b", "b"});
  for (JoinRequest& request : requests) request.liveness = kFast;
  const RankThatFreezes root(requests[0]);
  TestRank leader(*loop, requests[1]);
  TestRank follower(*loop, requests[2]);
  leader.Start();
  follower.Start();
  // No process above is left to confirm anything: the leader decides for its node, without a wait.
  ASSERT_TRUE(loop.Until([&] { return leader.everyone_knows == 1 && follower.everyone_knows == 1; }));
  for (const TestRank* rank : {&leader, &follower}) {
    EXPECT_THAT(rank->failures.front().error.message,
                testing::MatchesRegex("rank 0 on a fell silent: no message for [0-9]+.[0-9] s"));
  }
}

TEST_F(ControlPlaneLivenessTest, ARootThatGoesOnAfterItsSilenceBlamesNoOther) {
  auto requests = MakeRequests({"a", "b"});
  for (JoinRequest& request : requests) request.liveness = kFast;
  RankThatFreezes root(requests[0]);
  auto leader = std::make_unique<TestRank>(*loop, requests[1]);
  leader->Start();
  ASSERT_TRUE(loop.Until([&] { return leader->everyone_knows == 1; }));
  const std::string named = leader->failures.front().error.message;
  // Its process ends.
  leader.reset();
  EXPECT_EQ(root.FailureAfterwards(), named);
}

// In containers of their own all are pid 1.
TEST_F(ControlPlaneLivenessTest, ALeaderIsNamedWithoutOthersOfItsPid) {
  Form([](JoinRequest& request) { request.self.pid = 1; });
  group->Kill(2);
  EXPECT_TRUE(group->AllToldOf({Code::kPeerLost, "rank 2 on b ended without leaving its group", ""}));
}

// Heartbeats go to other nodes alone.
TEST_F(ControlPlaneLivenessTest, AStoppedFollowerIsNamed) {
  const LogCapture log;
  auto requests = MakeRequests({"a", "a"});
  for (JoinRequest& request : requests) request.liveness = kFast;
  const RankThatFreezes follower(requests[1]);
  TestRank root(*loop, requests[0]);
  root.Start();
  ASSERT_TRUE(loop.Until([&] { return log.Has(" stopped "); }));
  EXPECT_THAT(log.Text(), testing::HasSubstr(fmt::format(
                              "warning: rank 1 on a is stopped (process {}, state T ", follower.pid())));
  EXPECT_TRUE(root.failures.empty());
}

// Its forked worker holds every connection open.
TEST_F(ControlPlaneLivenessTest, AForkedWorkerDoesNotHideADeath) {
  auto requests = MakeRequests({"a", "a"});
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  for (const size_t dying : {size_t{1}, size_t{0}}) {
    requests = MakeRequests({"a", "a"});
    for (JoinRequest& request : requests) request.meeting.find_root = FindRoot::kSameNode;
    const pid_t child = StartRankWithWorker(requests[dying], hold);
    TestRank other(*loop, requests[1 - dying]);
    other.Start();
    ASSERT_TRUE(loop.Until([&] { return other.ended(); }));
    // The roster holds the made-up pids; the process that answers is this one's child.
    ASSERT_TRUE(loop.Until([&] { return !other.failures.empty(); }));
    EXPECT_EQ(
        other.failures.front().error,
        (Error{Code::kPeerLost, fmt::format("rank {} on a ended without leaving its group", dying), ""}));
    waitpid(child, nullptr, 0);
  }
  close(hold[0]);
  close(hold[1]);
}

// The same between nodes, where no process can be watched: the worker does not have the connection.
TEST_F(ControlPlaneLivenessTest, AForkedWorkerDoesNotHideTheDeathOfALeader) {
  const auto requests = MakeRequests({"a", "b"});
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  const pid_t child = StartRankWithWorker(requests[1], hold);
  TestRank root(*loop, requests[0]);
  root.Start();
  ASSERT_TRUE(loop.Until([&] { return root.ended(); }));
  // The heartbeats would take 30 s.
  ASSERT_TRUE(loop.Until([&] { return !root.failures.empty(); }));
  EXPECT_EQ(root.failures.front().error,
            (Error{Code::kPeerLost, "rank 1 on b ended without leaving its group", ""}));
  waitpid(child, nullptr, 0);
  close(hold[0]);
  close(hold[1]);
}

TEST_F(ControlPlaneLivenessTest, WhoLosesMostAtOnceIsCutOffItself) {
  auto requests = MakeRequests({"a", "b", "c", "d"});
  // The last messages of the three must come within suspect_after.
  for (JoinRequest& request : requests) request.liveness = {milliseconds(20), milliseconds(600), seconds(2)};
  const pid_t child = fork();
  if (child == 0) {
    net::TestLoop own_loop;
    requests.erase(requests.begin());
    TestGroup others(own_loop, requests);
    if (!others.AllFormed()) _exit(1);
    raise(SIGSTOP);
    _exit(0);
  }
  TestRank root(*loop, requests[0]);
  root.Start();
  ASSERT_TRUE(loop.Until([&] { return !root.failures.empty(); }));
  EXPECT_THAT(
      root.failures.front().error.message,
      testing::MatchesRegex("a is cut off: no message from 3 of the 3 other nodes for [0-9]+.[0-9] s"));
  EXPECT_EQ(root.failures.front().rank, -1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// The other nodes answer, so it is the root's that is gone.
TEST_F(ControlPlaneLivenessTest, WhoStillReachesOthersIsNotCutOff) {
  auto requests = MakeRequests({"a", "b", "c"});
  for (JoinRequest& request : requests) request.liveness = kFast;
  const RankThatFreezes root(requests[0]);
  TestRank one(*loop, requests[1]);
  TestRank other(*loop, requests[2]);
  one.Start();
  other.Start();
  ASSERT_TRUE(loop.Until([&] { return !one.failures.empty() && !other.failures.empty(); }));
  for (const TestRank* rank : {&one, &other}) {
    EXPECT_THAT(rank->failures.front().error.message,
                testing::MatchesRegex("rank 0 on a fell silent: no message for [0-9]+.[0-9] s"));
  }
}

TEST_F(ControlPlaneLivenessTest, AllIsQuietWhileAllIsWell) {
  Form([](JoinRequest& request) { request.liveness = kFast; });
  const LogCapture log;
  loop.For(milliseconds(500));
  for (size_t i = 0; i < 5; ++i) EXPECT_TRUE(rank(i).failures.empty());
  EXPECT_EQ(log.Text().find("silent"), std::string::npos);
}
}  // namespace
}  // namespace muster::rendezvous
