#include "comm/rendezvous/join/joiner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "comm/rendezvous/link/node_listener.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::MatchesRegex;

void ExpectOneGroup(TestGroup& group) {
  for (size_t rank = 0; rank < group.size(); ++rank) {
    EXPECT_EQ(group[rank].plane().group(), group[0].plane().group()) << "rank " << rank;
  }
  EXPECT_THAT(group[0].roster().group_id, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_EQ(group[0].roster().size(), static_cast<int>(group.size()));
}

void SetAll(std::vector<JoinRequest>& requests, const std::function<void(JoinRequest&)>& change) {
  for (JoinRequest& request : requests) change(request);
}

TEST(JoinerSameNode, OneRankIsAGroupAtOnce) {
  net::TestLoop loop;
  auto requests = MakeRequests({"gpu01"});
  requests[0].meeting.find_root = FindRoot::kSameNode;
  requests[0].self.claims[0].payload = {7};
  TestGroup group(loop, requests);
  ASSERT_TRUE(group[0].formed());
  EXPECT_EQ(group[0].roster().nodes, (std::vector<Roster::Node>{{"gpu01", {}}}));
  EXPECT_EQ(group[0].roster().members, (std::vector<Roster::Member>{{0, 0, 1000, {7}, 0}}));
  EXPECT_EQ(group[0].plane().group().root_rank, 0);
}

// Between its Joiner and its ControlPlane too, so that a second leader never finds the name free.
TEST(JoinerSameNode, AFormedLeaderHandsItsListenerOverOpen) {
  net::TestLoop loop;
  const std::vector<JoinRequest> requests = MakeRequests({"a", "a"});
  std::optional<Joined> formed;
  Joiner leader(*loop, requests[0], [&](tl::expected<Joined, Failure> joined) {
    ASSERT_TRUE(joined) << joined.error().error.message;
    formed = *std::move(joined);
  });
  leader.Start();
  TestRank follower(*loop, requests[1]);
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return formed.has_value(); }));
  ASSERT_TRUE(formed->node_listener);
  EXPECT_TRUE(formed->node_listener->open());
  const LocalNames names =
      MakeLocalNames(requests[0].meeting.LocalKey(), "a", requests[0].shared_directories, getuid());
  NodeListener second(*loop, names, [](UniqueFd, net::PeerCredentials) {});
  EXPECT_EQ(second.Open(NodeListener::Candidates::kOne), NodeListener::Opened::kTaken);
}

TEST(JoinerSameNode, NoPortIsOpened) {
  net::TestLoop loop;
  auto requests = MakeRequests({"a", "a", "a"});
  SetAll(requests, [](JoinRequest& request) {
    request.meeting.find_root = FindRoot::kSameNode;
    request.options.auth = AuthMethod::kMunge;
    request.munge_socket = "/nowhere/munge.socket";
    request.options.interface = "no-such-interface";
  });
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  ExpectOneGroup(group);
  EXPECT_TRUE(group[0].roster().nodes[0].addresses.empty());
}

TEST(JoinerSameNode, UnknownLocalRanksAreFoundOut) {
  net::TestLoop loop;
  auto requests = MakeRequests({"a", "a", "a"});
  SetAll(requests, [](JoinRequest& request) {
    request.meeting.find_root = FindRoot::kSameNode;
    request.self.claims[0].local_rank = -1;
    request.self.claims[0].local_size = -1;
  });
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  ExpectOneGroup(group);
  EXPECT_THAT(group[0].roster().RanksOn(0), ElementsAre(0, 1, 2));
}

TEST(JoinerSameNode, ALateLeaderIsWaitedFor) {
  net::TestLoop loop;
  auto requests = MakeRequests({"a", "a"});
  SetAll(requests, [](JoinRequest& request) { request.meeting.find_root = FindRoot::kSameNode; });
  TestRank follower(*loop, requests[1]);
  follower.Start();
  loop.For(milliseconds(20));
  TestRank leader(*loop, requests[0]);
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return leader.formed() && follower.formed(); }));
}

TEST(JoinerSeveralNodes, SixteenRanksOnUnevenNodes) {
  net::TestLoop loop;
  // Cyclic over four nodes, then the rest on one.
  TestGroup group(loop, {"a", "b", "c", "d", "a", "b", "c", "d", "a", "b", "c", "a", "b", "a", "a", "a"});
  ASSERT_TRUE(group.AllFormed());
  ExpectOneGroup(group);
  const Roster& roster = group[0].roster();
  EXPECT_THAT(roster.RanksOn(0), ElementsAre(0, 4, 8, 11, 13, 14, 15));
  EXPECT_THAT(roster.RanksOn(3), ElementsAre(3, 7));
  for (const Roster::Node& node : roster.nodes) EXPECT_THAT(node.addresses, ElementsAre("127.0.0.1"));
  for (int rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(roster.members[static_cast<size_t>(rank)].pid, 1000 + rank);
  }
}

TEST(JoinerSeveralNodes, WithASecretOverThePortLadder) {
  net::TestLoop loop;
  auto requests = MakeRequests({"a", "a", "b", "c"});
  SetAll(requests, [](JoinRequest& request) {
    request.meeting.find_root = FindRoot::kHost;
    request.meeting.host = "127.0.0.1";
    request.options.auth = AuthMethod::kSecret;
    request.secret = *auth::JobSecret::Parse(std::string(64, 'a'), "MUSTER_SECRET");
  });
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  ExpectOneGroup(group);
}

TEST(JoinerSeveralNodes, TheFirstNodesLeaderIsTheRootWhateverItsRank) {
  net::TestLoop loop;
  auto requests = MakeRequests({"127.0.0.2", "127.0.0.1", "127.0.0.1"});
  SetAll(requests, [](JoinRequest& request) {
    request.meeting.find_root = FindRoot::kFirstNode;
    request.meeting.placement.nodes = {{"127.0.0.1", 2}, {"127.0.0.2", 1}};
    request.meeting.placement.node_of_rank = {1, 0, 0};
  });
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  ExpectOneGroup(group);
  EXPECT_EQ(group[0].plane().group().root_rank, 1);
  EXPECT_TRUE(group[1].plane().is_root());
}

TEST(JoinerSeveralNodes, TheRootIsSearchedOnAllNodes) {
  net::TestLoop loop;
  auto requests = MakeRequests({"127.0.0.3", "127.0.0.1", "127.0.0.2"});
  SetAll(requests, [](JoinRequest& request) { request.meeting.find_root = FindRoot::kSearch; });
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  ExpectOneGroup(group);
}

TEST(JoinerSeveralNodes, RankZeroMayStandBehindAnotherLeader) {
  net::TestLoop loop;
  auto requests = MakeRequests({"a", "a", "b"});
  requests[0].self.claims[0].local_rank = 1;
  requests[1].self.claims[0].local_rank = 0;
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  ExpectOneGroup(group);
  EXPECT_EQ(group[0].plane().group().root_rank, 1);
  EXPECT_THAT(group[0].roster().RanksOn(0), ElementsAre(1, 0));
}

TEST(JoinerSeveralNodes, AProcessMayStandForSeveralRanks) {
  net::TestLoop loop;
  auto requests = MakeRequests({"a", "a", "b", "b"});
  requests[0].self.claims.push_back(requests[1].self.claims[0]);
  requests[2].self.claims.push_back(requests[3].self.claims[0]);
  TestGroup group(loop, std::vector<JoinRequest>{requests[0], requests[2]});
  ASSERT_TRUE(group.AllFormed());
  EXPECT_EQ(group[1].roster().size(), 4);
  EXPECT_EQ(group[1].roster().members[3].pid, 1002);
}

TEST(JoinerSeveralNodes, WithoutALeaderTheOthersGoToTheRootThemselves) {
  net::TestLoop loop;
  auto requests = MakeRequests({"a", "b", "b", "b"});
  SetAll(requests, [](JoinRequest& request) { request.leader_patience = milliseconds(20); });
  std::vector<std::unique_ptr<TestRank>> ranks;
  for (const size_t rank : {0, 2, 3}) ranks.push_back(std::make_unique<TestRank>(*loop, requests[rank]));
  for (const auto& rank : ranks) rank->Start();
  loop.For(milliseconds(60));
  // And when it comes after all, no rank is lost.
  ranks.push_back(std::make_unique<TestRank>(*loop, requests[1]));
  ranks.back()->Start();
  ASSERT_TRUE(
      loop.Until([&] { return std::ranges::all_of(ranks, [](const auto& rank) { return rank->ended(); }); }));
  for (const auto& rank : ranks) {
    ASSERT_TRUE(rank->formed()) << rank->refused()->error.message;
    EXPECT_THAT(rank->roster().RanksOn(1), ElementsAre(1, 2, 3));
  }
}

TEST(JoinerSeveralNodes, TheRootMayComeLast) {
  net::TestLoop loop;
  const auto requests = MakeRequests({"a", "b", "b", "c"});
  std::vector<std::unique_ptr<TestRank>> ranks;
  for (const size_t rank : {3, 2, 1}) {
    ranks.push_back(std::make_unique<TestRank>(*loop, requests[rank]));
    ranks.back()->Start();
  }
  loop.For(milliseconds(100));
  ranks.push_back(std::make_unique<TestRank>(*loop, requests[0]));
  ranks.back()->Start();
  ASSERT_TRUE(
      loop.Until([&] { return std::ranges::all_of(ranks, [](const auto& rank) { return rank->ended(); }); }));
  for (const auto& rank : ranks) EXPECT_TRUE(rank->formed());
}

TEST(JoinerSeveralNodes, ATakenPortIsWaitedFor) {
  net::TestLoop loop;
  const auto requests = MakeRequests({"a", "b"});
  auto taken = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", requests[0].meeting.endpoint->port));
  ASSERT_TRUE(taken);
  TestGroup group(loop, requests);
  loop.For(milliseconds(50));
  EXPECT_FALSE(group[0].ended());
  taken->Reset();
  ASSERT_TRUE(group.AllFormed());
}

TEST(JoinerSeveralNodes, TwoLaunchesShareARangeOfTwoPorts) {
  net::TestLoop loop;
  const uint16_t first = [] {
    while (true) {
      const uint16_t port = net::FreePort();
      if (port < 65535 &&
          net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", static_cast<uint16_t>(port + 1))))
        return port;
    }
  }();
  std::vector<std::unique_ptr<TestGroup>> groups;
  for (int launch = 0; launch < 2; ++launch) {
    auto requests = MakeRequests({"a", "b", "b", "c"});
    SetAll(requests, [&](JoinRequest& request) {
      request.meeting.find_root = FindRoot::kHost;
      request.meeting.host = "127.0.0.1";
      request.options.ports = {first, static_cast<uint16_t>(first + 1)};
    });
    groups.push_back(std::make_unique<TestGroup>(loop, requests));
  }
  for (const auto& group : groups) {
    ASSERT_TRUE(group->AllFormed());
    ExpectOneGroup(*group);
  }
  EXPECT_NE((*groups[0])[0].roster().group_id, (*groups[1])[0].roster().group_id);
  EXPECT_NE((*groups[0])[0].plane().group().key, (*groups[1])[0].plane().group().key);
}

// In a process of its own, after `enter`. 0: its rank has formed a group; 2: `enter` is not allowed here.
pid_t InContainer(const JoinRequest& request, const std::function<bool()>& enter) {
  const pid_t container = fork();
  if (container != 0) return container;
  if (!enter()) _exit(2);
  net::TestLoop own_loop;
  TestRank rank(*own_loop, request);
  rank.Start();
  own_loop->RunUntil([&] { return rank.ended(); }, Deadline::After(seconds(60)));
  if (rank.refused()) fmt::print(stderr, "{}\n", ToString(rank.refused()->error));
  _exit(rank.formed() ? 0 : 1);
}

// If it may not enter; a process with threads (ThreadSanitizer's) may not either.
bool HasNotEntered(pid_t container) {
  siginfo_t end{};
  return waitid(P_PID, static_cast<id_t>(container), &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         end.si_pid == container && end.si_status == 2;
}

// 0, or 2 as above.
int StatusOf(pid_t container) {
  int status = 0;
  EXPECT_EQ(waitpid(container, &status, 0), container);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST(JoinerSeveralNodes, RanksOfANodeMeetAcrossNetworkNamespaces) {
  if (getuid() != 0) GTEST_SKIP() << "needs root: for a network namespace";
  net::TestLoop loop;
  const net::TestBase base;
  auto requests = MakeRequests({"a", "a"});
  SetAll(requests, [&](JoinRequest& request) {
    request.meeting.find_root = FindRoot::kSameNode;
    request.shared_directories = {base.path};
  });
  const pid_t container = InContainer(requests[1], [] { return unshare(CLONE_NEWNET) == 0; });
  TestRank leader(*loop, requests[0]);
  leader.Start();
  EXPECT_TRUE(loop.Until([&] { return leader.ended() || HasNotEntered(container); }));
  const int status = StatusOf(container);
  if (status == 2) GTEST_SKIP() << "needs root: unshare is not allowed";
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(leader.formed());
}

// Containers with a /dev/shm of their own: the second base is the one that they share.
TEST(JoinerSeveralNodes, RanksOfANodeMeetInAnyBaseThatTheyShare) {
  net::TestLoop loop;
  const net::TestBase shared;
  const net::TestBase first;
  const net::TestBase second;
  auto requests = MakeRequests({"a", "a"});
  SetAll(requests, [&](JoinRequest& request) { request.meeting.find_root = FindRoot::kSameNode; });
  requests[0].shared_directories = {first.path, shared.path};
  requests[1].shared_directories = {second.path, shared.path};
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
}

// They share none: a follower goes to the root without a wait, and logs nothing of a missing leader.
TEST(JoinerSeveralNodes, RanksThatShareNoDirectoryGoToTheRootWithoutTheirLeader) {
  net::TestLoop loop;
  const LogCapture log;
  const net::TestBase first;
  const net::TestBase second;
  auto requests = MakeRequests({"a", "b", "b"});
  SetAll(requests, [&](JoinRequest& request) { request.leader_patience = std::chrono::hours(1); });
  requests[1].shared_directories = {first.path};
  requests[2].shared_directories = {second.path};
  TestGroup group(loop, requests);
  ASSERT_TRUE(group.AllFormed());
  EXPECT_EQ(log.Text(), "");
}

TEST(JoinerSeveralNodes, RanksThatShareNoDirectoryAndHaveNoRootToGoToAreToldWhy) {
  net::TestLoop loop;
  const net::TestBase first;
  const net::TestBase second;
  auto requests = MakeRequests({"a", "a"});
  SetAll(requests, [&](JoinRequest& request) { request.meeting.find_root = FindRoot::kSameNode; });
  requests[0].shared_directories = {first.path};
  requests[1].shared_directories = {second.path};
  TestRank leader(*loop, requests[0]);
  leader.Start();
  TestRank follower(*loop, requests[1]);
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return follower.ended(); }));
  EXPECT_EQ(follower.refused()->error,
            (Error{Code::kSystem,
                   "rank 1 on a cannot meet the other ranks of its node: the socket of this node's leader is "
                   "in a directory that this process cannot reach",
                   "bind /dev/shm or /tmp of the node into the container"}));
}

// There every user without a mapping has the same uid: the root's authentication is what counts.
TEST(JoinerSeveralNodes, ARankWhoseUserIsNotMappedMeetsNobodyLocally) {
  if (getuid() != 0) GTEST_SKIP() << "needs root: for a user namespace";
  net::TestLoop loop;
  auto requests = MakeRequests({"a", "b", "b"});
  SetAll(requests, [&](JoinRequest& request) { request.leader_patience = std::chrono::hours(1); });
  const pid_t container = InContainer(requests[2], [] { return unshare(CLONE_NEWUSER) == 0; });
  TestRank root(*loop, requests[0]);
  TestRank leader(*loop, requests[1]);
  root.Start();
  leader.Start();
  EXPECT_TRUE(loop.Until([&] { return (root.ended() && leader.ended()) || HasNotEntered(container); }));
  const int status = StatusOf(container);
  if (status == 2) GTEST_SKIP() << "needs root: unshare is not allowed";
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(root.formed() && leader.formed());
}

TEST(Joiner, LeavesNoDescriptorBehind) {
  net::TestLoop loop;
  const auto before = net::OpenDescriptors();
  {
    TestGroup group(loop, {"a", "a", "b", "b"});
    ASSERT_TRUE(group.AllFormed());
    loop.Settle();
  }
  loop.Settle();
  EXPECT_TRUE(loop.Until([&] { return net::OpenDescriptors() <= before; }));
}

TEST(Joiner, MayBeDestroyedAtAnyMoment) {
  net::TestLoop loop;
  const auto before = net::OpenDescriptors();
  for (int rounds = 0; rounds < 20; ++rounds) {
    TestGroup group(loop, {"a", "a", "b", "b"});
    for (int i = 0; i < rounds; ++i) loop->RunOnce(Deadline::After(milliseconds(1)));
    for (const size_t rank : {1, 0, 3, 2}) {
      group.Kill(rank);
      loop->RunOnce(Deadline::After(Duration::zero()));
    }
  }
  loop.Settle();
  EXPECT_TRUE(loop.Until([&] { return net::OpenDescriptors() <= before; }));
}

}  // namespace
}  // namespace muster::rendezvous
