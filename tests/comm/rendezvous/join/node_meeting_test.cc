#include "comm/rendezvous/join/node_meeting.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "comm/net/private_directory.h"
#include "comm/rendezvous/link/names.h"
#include "tests/comm/net/other_user.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

TEST(FirstStepOf, LeadsFollowsOrGoesToTheRootAlone) {
  struct Row {
    int local_rank;
    int local_size;
    size_t ranks;
    bool user_ids_are_reliable;
    bool same_node;
    FirstStep expected;
  };
  for (const Row& row : {
           Row{0, 4, 1, true, false, FirstStep::kListen},
           Row{0, 4, 4, true, false, FirstStep::kConnectOrLead},
           Row{0, 1, 1, true, true, FirstStep::kConnectOrLead},
           Row{0, -1, 1, true, false, FirstStep::kListen},
           Row{1, 4, 1, true, false, FirstStep::kFollow},
           Row{3, -1, 1, true, true, FirstStep::kFollow},
           Row{-1, -1, 1, true, false, FirstStep::kConnectOrListen},
           Row{-1, 1, 1, true, false, FirstStep::kConnectOrListen},
           Row{0, 4, 1, false, false, FirstStep::kLead},
           Row{-1, -1, 1, false, false, FirstStep::kLead},
           Row{1, 4, 1, false, false, FirstStep::kAlone},
           Row{0, 4, 1, false, true, FirstStep::kAlone},
       }) {
    EXPECT_EQ(FirstStepOf({0, row.local_rank, row.local_size, {}}, row.ranks, row.user_ids_are_reliable,
                          row.same_node),
              row.expected)
        << row.local_rank << "/" << row.local_size << " ranks " << row.ranks;
  }
}

// A root that answers "later" makes the process start again.
TEST(NodeMeeting, GoesToTheRootAloneAgainAfterItHasStartedAgain) {
  net::TestLoop loop;
  const net::TestBase first;
  const net::TestBase second;
  auto requests = MakeRequests({"b", "b"});
  requests[0].shared_directories = {first.path};
  requests[1].shared_directories = {second.path};
  requests[1].leader_patience = std::chrono::hours(1);
  bool leads = false;
  int alone = 0;
  NodeMeeting leader(*loop, requests[0],
                     {.on_child = {},
                      .on_leader = {},
                      .on_lead = [&] { leads = true; },
                      .on_alone = {},
                      .whole_node_is_here = [] { return false; },
                      .on_failed = {}});
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return leads; }));
  NodeMeeting follower(*loop, requests[1],
                       {.on_child = {},
                        .on_leader = {},
                        .on_lead = {},
                        .on_alone = [&] { ++alone; },
                        .whole_node_is_here = {},
                        .on_failed = {}});
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return alone == 1; }));
  EXPECT_TRUE(follower.alone());
  follower.StopSearch();
  follower.Start();
  EXPECT_FALSE(follower.alone());
  EXPECT_TRUE(loop.Until([&] { return alone == 2; }));
}

// It is not out of sight: its directory is here.
TEST(NodeMeeting, WaitsForALeaderWhoseQueueIsFull) {
  net::TestLoop loop;
  const net::TestBase base;
  auto requests = MakeRequests({"b", "b"});
  requests[1].shared_directories = {base.path};
  requests[1].leader_patience = std::chrono::hours(1);
  const auto directory = net::PrivateDirectory::MakeIn(base.path);
  ASSERT_TRUE(directory);
  const std::string name = LocalSocketName(requests[0].meeting.LocalKey(), "b");
  const auto leader = net::PrivateSocket::Bind(*directory, name, net::PrivateSocket::Kind::kListener);
  ASSERT_TRUE(leader);
  ASSERT_EQ(listen(leader->fd.get(), 0), 0);
  const UniqueFd other = *net::StartConnect(*directory->AddressOf(name));
  bool found = false;
  int alone = 0;
  NodeMeeting follower(*loop, requests[1],
                       {.on_child = {},
                        .on_leader = [&](const auto&) { found = true; },
                        .on_lead = {},
                        .on_alone = [&] { ++alone; },
                        .whole_node_is_here = {},
                        .on_failed = {}});
  follower.Start();
  // Longer than a leader that is out of sight is waited for.
  loop.For(std::chrono::milliseconds(800));
  EXPECT_EQ(alone, 0);
  EXPECT_TRUE(UniqueFd(accept4(leader->fd.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  ASSERT_TRUE(loop.Until([&] { return found; }));
}

// Another user has bound a socket of the leader's name. The kernel lists it, and no directory of this user has it.
class StrangersSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    if (getuid() != 0) GTEST_SKIP() << "needs root: to be another user";
    for (JoinRequest& request : requests) {
      request.meeting.find_root = FindRoot::kSameNode;
      request.shared_directories = {shared.path};
      request.leader_patience = std::chrono::hours(1);
    }
    const std::string name = LocalSocketName(requests[0].meeting.LocalKey(), "b");
    ASSERT_EQ(chmod(elsewhere.path.c_str(), 01777), 0);
    stranger.emplace(
        [&] {
          static UniqueFd bound;
          auto made = net::Listen(*net::SocketAddress::Path(elsewhere.path + "/" + name + "~"));
          if (!made) return false;
          bound = *std::move(made);
          return true;
        },
        net::OtherProcess::kNoOwner);
    ASSERT_TRUE(stranger->acted());
    ASSERT_TRUE(net::IsListedByKernel(name));
  }
  NodeMeeting::Events Counted(size_t rank) {
    return {.on_child = [this](std::unique_ptr<net::FrameStream>, const std::string&) { ++children; },
            .on_leader = [this](std::unique_ptr<net::FrameStream>) { ++leaders_found; },
            .on_lead = [this] { ++leads; },
            .on_alone = [this] { ++alone; },
            .whole_node_is_here = [] { return false; },
            .on_failed = [rank](const Error& error) { ADD_FAILURE() << rank << ": " << ToString(error); }};
  }

  net::TestLoop loop;
  const net::TestBase shared;
  const net::TestBase elsewhere;
  std::vector<JoinRequest> requests = MakeRequests({"b", "b"});
  std::optional<net::OtherProcess> stranger;
  int children = 0;
  int leaders_found = 0;
  int leads = 0;
  int alone = 0;
};

TEST_F(StrangersSocketTest, NeitherEndsTheSearchForALateLeaderNorDelaysIt) {
  NodeMeeting follower(*loop, requests[1], Counted(1));
  follower.Start();
  // Longer than a leader that is out of sight is waited for.
  loop.For(std::chrono::milliseconds(800));
  EXPECT_FALSE(follower.alone());
  NodeMeeting leader(*loop, requests[0], Counted(0));
  leader.Start();
  EXPECT_EQ(leads, 1) << "it does not wait";
  ASSERT_TRUE(loop.Until([&] { return leaders_found == 1 && children == 1; }));
  EXPECT_EQ(alone, 0);
}

// Linux before 5.3.
TEST_F(StrangersSocketTest, WithoutAKnownOwnerNeitherEndsTheSearchForALateLeader) {
  int questions = 0;
  NodeMeeting follower(*loop, requests[1], Counted(1), [&](uid_t, std::string_view) {
    ++questions;
    return std::optional<bool>();
  });
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return questions > 0; }));
  loop.For(std::chrono::milliseconds(800));
  EXPECT_EQ(questions, 1);
  EXPECT_FALSE(follower.alone());
  EXPECT_TRUE(follower.name_is_taken_elsewhere());
  NodeMeeting leader(*loop, requests[0], Counted(0));
  leader.Start();
  ASSERT_TRUE(loop.Until([&] { return leaders_found == 1 && children == 1; }));
  EXPECT_EQ(alone, 0);
}

TEST_F(StrangersSocketTest, WithoutAKnownOwnerTheRootIsTheOtherWay) {
  requests[1].meeting.find_root = FindRoot::kEndpoint;
  NodeMeeting follower(*loop, requests[1], Counted(1),
                       [](uid_t, std::string_view) { return std::optional<bool>(); });
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return alone == 1; }));
  EXPECT_TRUE(follower.alone());
}

TEST_F(StrangersSocketTest, DoesNotHideALeaderThatIsOutOfSight) {
  const net::TestBase other;
  requests[0].shared_directories = {other.path};
  requests[1].meeting.find_root = FindRoot::kEndpoint;
  NodeMeeting leader(*loop, requests[0], Counted(0));
  leader.Start();
  NodeMeeting follower(*loop, requests[1], Counted(1));
  follower.Start();
  ASSERT_TRUE(loop.Until([&] { return alone == 1; }));
}

}  // namespace
}  // namespace muster::rendezvous
