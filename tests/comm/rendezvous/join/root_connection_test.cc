#include "comm/rendezvous/join/root_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/rendezvous/link/names.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Ranks 0 and 2 on b, rank 1 on a, which is the first node.
Meeting MeetingBy(FindRoot find_root) {
  Meeting meeting;
  meeting.key = "key";
  meeting.find_root = find_root;
  meeting.host = "b-ib";
  meeting.endpoint = Endpoint{"b-eth", 4711};
  meeting.placement.nodes = {{"a", 1}, {"b", 2}};
  meeting.placement.node_of_rank = {1, 0, 1};
  return meeting;
}

Meeting WithoutLayout(Meeting meeting) {
  meeting.placement.node_of_rank.clear();
  return meeting;
}

Meeting WithoutNodes(Meeting meeting) {
  meeting.placement = {};
  return meeting;
}

TEST(IsRoot, IsTheFirstNodesLeaderOrThatOfRankZero) {
  for (const bool leads_rank_zero : {false, true}) {
    EXPECT_TRUE(IsRoot(MeetingBy(FindRoot::kSameNode), "b", leads_rank_zero));
    EXPECT_TRUE(IsRoot(MeetingBy(FindRoot::kFirstNode), "a", leads_rank_zero));
    EXPECT_FALSE(IsRoot(MeetingBy(FindRoot::kFirstNode), "b", leads_rank_zero));
    EXPECT_FALSE(IsRoot(WithoutNodes(MeetingBy(FindRoot::kFirstNode)), "a", leads_rank_zero));
    for (const FindRoot how :
         {FindRoot::kHost, FindRoot::kSearch, FindRoot::kEndpoint, FindRoot::kEndpointStore}) {
      EXPECT_EQ(IsRoot(MeetingBy(how), "a", leads_rank_zero), leads_rank_zero);
    }
  }
}

TEST(DescribeRoot, NamesRankAndNodeAsFarAsTheyAreKnown) {
  struct Row {
    Meeting meeting;
    std::vector<std::string> hosts;
    const char* description;
  };
  Meeting searched_on_one = MeetingBy(FindRoot::kSearch);
  searched_on_one.placement = {{{"b", 2}}, {}};
  for (const Row& row : {
           Row{MeetingBy(FindRoot::kSameNode), {"a", "b"}, "local rank 0 on here"},
           Row{MeetingBy(FindRoot::kFirstNode), {"a"}, "rank 1 on a"},
           Row{WithoutLayout(MeetingBy(FindRoot::kFirstNode)), {"a"}, "the leader of a"},
           Row{WithoutNodes(MeetingBy(FindRoot::kFirstNode)), {}, "the first node's leader"},
           Row{MeetingBy(FindRoot::kHost), {"b-ib"}, "rank 0 on b-ib"},
           Row{MeetingBy(FindRoot::kEndpoint), {"b-eth"}, "rank 0 on b-eth"},
           Row{MeetingBy(FindRoot::kSearch), {"a", "b"}, "rank 0 on b"},
           Row{WithoutLayout(MeetingBy(FindRoot::kSearch)), {"a", "b"}, "rank 0"},
           Row{searched_on_one, {"b"}, "rank 0 on b"},
           Row{MeetingBy(FindRoot::kEndpointStore), {}, "rank 0 on b"},
           Row{WithoutNodes(MeetingBy(FindRoot::kEndpointStore)), {}, "rank 0"},
       }) {
    EXPECT_EQ(RootHosts(row.meeting), row.hosts) << row.description;
    EXPECT_EQ(DescribeRoot(row.meeting, "here"), row.description);
  }
}

TEST(DescribeStandIn, NamesTheAddressThatMadeTheProcessTheRoot) {
  EXPECT_EQ(DescribeStandIn(MeetingBy(FindRoot::kHost), "a"),
            "; a is the root in place of rank 0, because MASTER_ADDR=b-ib is an address of a");
  EXPECT_EQ(DescribeStandIn(MeetingBy(FindRoot::kEndpoint), "a"),
            "; a is the root in place of rank 0, because the endpoint b-eth is an address of a");
  for (const FindRoot how : {FindRoot::kFirstNode, FindRoot::kSearch, FindRoot::kSameNode})
    EXPECT_EQ(DescribeStandIn(MeetingBy(how), "a"), "");
}

TEST(WhereToSearch, AtTheEndpointItsPortAlone) {
  JoinRequest request;
  request.meeting = MeetingBy(FindRoot::kEndpoint);
  request.secret = *auth::JobSecret::Parse(std::string(64, 'a'), "MUSTER_SECRET");
  const RootSearch::Where where = WhereToSearch(request);
  EXPECT_THAT(where.hosts, ElementsAre("b-eth"));
  EXPECT_THAT(where.ports, ElementsAre(4711));
  EXPECT_THAT(where.later_ports, IsEmpty());
  EXPECT_FALSE(where.further_ports) << "nothing to sweep, and no timer for it";
  EXPECT_EQ(where.crowd, 2u);
}

// All leaders asked the name service in the same second.
TEST(WhereToSearch, WithoutAListOfNodesTheRanksTellHowManySearch) {
  JoinRequest request;
  request.meeting = MeetingBy(FindRoot::kEndpoint);
  request.meeting.placement = {};
  EXPECT_EQ(WhereToSearch(request).crowd, 1u);
  request.self.agreement.world_size = 8000;
  request.self.claims = {{0, -1, -1, {}}};
  EXPECT_EQ(WhereToSearch(request).crowd, 8000u);
  request.self.claims = {{0, 0, 8, {}}};
  EXPECT_EQ(WhereToSearch(request).crowd, 1000u);
}

TEST(WhereToSearch, OnALadderItsFirstPortsAndLaterTheRest) {
  JoinRequest request;
  request.meeting = MeetingBy(FindRoot::kSearch);
  request.options.ports = {20000, 20009};
  const std::vector<uint16_t> ladder = PortLadder("key", request.options.ports, {}, kWholeLadder);
  RootSearch::Where where = WhereToSearch(request);
  EXPECT_THAT(where.hosts, ElementsAre("a", "b"));
  EXPECT_EQ(where.ports, std::vector<uint16_t>(ladder.begin(), ladder.begin() + 8));
  EXPECT_THAT(where.later_ports, IsEmpty());
  EXPECT_THAT(where.further_ports(), ElementsAre(ladder[8], ladder[9]));
  // With a secret there are two ladders; the ports of the second come later.
  request.secret = *auth::JobSecret::Parse(std::string(64, 'a'), "MUSTER_SECRET");
  where = WhereToSearch(request);
  EXPECT_EQ(where.later_ports, std::vector<uint16_t>(ladder.begin(), ladder.begin() + 8));
  EXPECT_NE(where.ports, where.later_ports);
  EXPECT_THAT(where.further_ports(), SizeIs(4));
  request.options.ports = {20000, 20002};
  EXPECT_THAT(WhereToSearch(request).ports, SizeIs(3));
}

}  // namespace
}  // namespace muster::rendezvous
