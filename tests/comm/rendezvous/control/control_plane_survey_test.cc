// The reports of a running group about itself, in `muster status` and in the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "comm/rendezvous/survey/status_client.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

class StatusTest : public testing::Test {
 protected:
  // As another process would, while the group's loop runs.
  GroupStatus Ask(uint64_t patience = 2000) {
    std::atomic<bool> over = false;
    Result<AskedGroups> asked = Fail(Code::kInternal, "not asked");
    std::thread asker([&] {
      asked = AskGroupsOnThisNode({0, patience, {}}, getuid(), net::PrivateBases(),
                                  Deadline::After(milliseconds(2 * patience) + seconds(1)));
      over = true;
      loop->Post([] {});
    });
    EXPECT_TRUE(loop.Until([&] { return over.load(); }));
    asker.join();
    if (!asked) {
      ADD_FAILURE() << asked.error().message;
      return {};
    }
    for (GroupStatus& group : asked->groups) {
      if (group.job == job) return group;
    }
    ADD_FAILURE() << "this group was not found among " << asked->groups.size();
    return {};
  }
  std::vector<JoinRequest> Requests(const std::vector<std::string>& nodes) {
    auto requests = MakeRequests(nodes);
    for (JoinRequest& request : requests) request.job = job;
    return requests;
  }
  static std::vector<RankState> StatesOf(const GroupStatus& status) {
    std::vector<RankState> states;
    for (const RankReport& report : status.reports) states.push_back(report.state);
    return states;
  }

  net::TestLoop loop;
  const std::string job = fmt::format("status_test {}", getpid());
};

TEST_F(StatusTest, TellsOfEveryRank) {
  TestGroup group(loop, Requests({"a", "a", "b"}));
  ASSERT_TRUE(group.AllFormed());
  const GroupStatus status = Ask();
  EXPECT_EQ(status.group_id, group[0].roster().group_id);
  EXPECT_EQ(status.forming, "");
  EXPECT_TRUE(status.complete);
  EXPECT_THAT(status.nodes, ElementsAre("a", "b"));
  EXPECT_THAT(status.node_of_rank, ElementsAre(0, 0, 1));
  EXPECT_THAT(StatesOf(status), ElementsAre(RankState::kInGroup, RankState::kInGroup, RankState::kInGroup));
}

TEST_F(StatusTest, TellsWhoHasLeft) {
  TestGroup group(loop, Requests({"a", "a", "b"}));
  ASSERT_TRUE(group.AllFormed());
  group[1].plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return group[1].released == 1; }));
  EXPECT_THAT(StatesOf(Ask()), ElementsAre(RankState::kInGroup, RankState::kLeft, RankState::kInGroup));
}

TEST_F(StatusTest, TellsWhatAFormingGroupWaitsFor) {
  auto requests = Requests({"a", "b"});
  requests.pop_back();
  TestGroup group(loop, requests);
  loop.Settle();
  const GroupStatus status = Ask();
  EXPECT_EQ(status.group_id, "");
  EXPECT_THAT(status.forming, testing::HasSubstr("missing b: 1"));
}

TEST_F(StatusTest, ARankThatDoesNotAnswerIsSilentAndTheKernelIsAsked) {
  const auto requests = Requests({"a", "a", "b"});
  // Rank 1 is a process of its own that stops.
  const pid_t child = fork();
  if (child == 0) {
    net::TestLoop own_loop;
    TestRank own(*own_loop, requests[1]);
    own.Start();
    own_loop->RunUntil([&] { return own.ended(); }, Deadline::After(seconds(10)));
    own_loop.Settle();
    raise(SIGSTOP);
    _exit(0);
  }
  TestGroup group(loop, {requests[0], requests[2]});
  ASSERT_TRUE(group.AllFormed());
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, WUNTRACED), child);
  const GroupStatus status = Ask(400);
  EXPECT_THAT(StatesOf(status), ElementsAre(RankState::kInGroup, RankState::kSilent, RankState::kInGroup));
  ASSERT_EQ(status.reports.size(), 3u);
  EXPECT_EQ(status.reports[1].process.pid, child);
  EXPECT_EQ(status.reports[1].process.state, 'T');
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(StatusTest, WhereTheRootIsSilentTheOwnNodeIsTold) {
  const auto requests = Requests({"a", "b", "b"});
  const pid_t child = fork();
  if (child == 0) {
    net::TestLoop own_loop;
    TestRank own(*own_loop, requests[0]);
    own.Start();
    own_loop->RunUntil([&] { return own.ended(); }, Deadline::After(seconds(10)));
    own_loop.Settle();
    raise(SIGSTOP);
    _exit(0);
  }
  TestGroup group(loop, {requests[1], requests[2]});
  ASSERT_TRUE(group.AllFormed());
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, WUNTRACED), child);
  // The stopped root's own server takes the asker's whole patience.
  const GroupStatus status = Ask(200);
  EXPECT_FALSE(status.complete);
  EXPECT_THAT(StatesOf(status), ElementsAre(RankState::kSilent, RankState::kInGroup, RankState::kInGroup));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(StatusTest, WhoIsLateIsToldToTheRootWhichSaysSo) {
  auto requests = Requests({"a", "b", "b"});
  for (JoinRequest& request : requests) request.liveness.straggler_after = milliseconds(50);
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  const LogCapture log(LogLevel::kDebug);
  // No rank reports that it waits: the root has inquired and found nothing.
  group[2].plane().survey().NoteLate();
  loop.For(milliseconds(100));
  EXPECT_EQ(log.Text(), "");
}

TEST(StatusSocket, IsReadBack) {
  const auto socket = ParseStatusSocket(StatusSocketName(7));
  ASSERT_TRUE(socket);
  EXPECT_EQ(socket->pid, getpid());
  EXPECT_EQ(socket->network_namespace, net::OwnNetworkNamespace());
  for (const char* other : {"", "status-", "status-1-2", "leader-1-2-3-4", "status-f0-2-3-4-5",
                            "status-g-2-3-4", "status-f0-x-3-4", "status-fffffffff-2-3-4", "status--2-3-4"})
    EXPECT_FALSE(ParseStatusSocket(other)) << other;
}

}  // namespace
}  // namespace muster::rendezvous
