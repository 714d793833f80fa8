#include "comm/rendezvous/join/node_meeting.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster::rendezvous
