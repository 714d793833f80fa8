#include "comm/rendezvous/control/report_handover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/rendezvous/control/control_plane.h"
#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;

// The node above listens at all addresses of this machine: each host of a detour is that node.
class ReportHandoverTest : public testing::Test {
 protected:
  ReportHandoverTest() {
    request = MakeRequests({"no such host", "b", "c"})[0];
    request.meeting.find_root = FindRoot::kFirstNode;
  }
  void Listen() {
    above = std::make_unique<RejoinHandler>(
        *loop, std::make_shared<const JoinRequest>(request), false,
        RejoinHandler::Group{[](int) { return std::nullopt; },
                             [this](const OrphanReport& report) {
                               taken.push_back(report.group_id);
                               return report.ends.size() == 1 && taken.size() > refused;
                             },
                             [](const Hello&, const ProcessInfo&) { return std::nullopt; }});
    above->OpenToOrphans();
  }
  void HandOver(const std::vector<std::string>& hosts) {
    handover = std::make_unique<ReportHandover>(*loop, std::make_shared<const JoinRequest>(request),
                                                Detour{hosts, 1}, Encode(OrphanReport{"id", {{.rank = 2}}}),
                                                [this] { ++done; });
  }

  net::TestLoop loop;
  JoinRequest request;
  size_t refused = 0;  // reports
  std::unique_ptr<RejoinHandler> above;
  std::unique_ptr<ReportHandover> handover;
  std::vector<std::string> taken;
  int done = 0;
};

TEST_F(ReportHandoverTest, TheNextNodeAboveTakesTheReport) {
  Listen();
  HandOver({"127.0.0.2", "127.0.0.3"});
  ASSERT_TRUE(loop.Until([&] { return done == 1; }));
  EXPECT_THAT(taken, ElementsAre("id"));
}

TEST_F(ReportHandoverTest, ANodeThatDoesNotListenYetIsTriedAgain) {
  HandOver({"127.0.0.2"});
  loop.For(std::chrono::milliseconds(50));
  Listen();
  ASSERT_TRUE(loop.Until([&] { return done == 1; }));
  EXPECT_THAT(taken, ElementsAre("id"));
}

TEST_F(ReportHandoverTest, IfANodeOfAnotherGroupAnswersTheNextOneIsTried) {
  refused = 1;
  Listen();
  HandOver({"127.0.0.2", "127.0.0.3"});
  ASSERT_TRUE(loop.Until([&] { return done == 1; }));
  EXPECT_THAT(taken, ElementsAre("id", "id"));
}

TEST_F(ReportHandoverTest, WithoutANodeThatTakesItTheHandoverEnds) {
  refused = 9;
  Listen();
  HandOver({"127.0.0.2", "127.0.0.3"});
  ASSERT_TRUE(loop.Until([&] { return done == 1; }));
  EXPECT_THAT(taken, ElementsAre("id", "id"));
}

TEST_F(ReportHandoverTest, WithoutAProofTheHandoverEnds) {
  request.options.auth = AuthMethod::kSecret;
  HandOver({"127.0.0.2"});
  ASSERT_TRUE(loop.Until([&] { return done == 1; }));
}

std::shared_ptr<FormedGroup> GroupOf(const std::vector<JoinRequest>& requests) {
  auto group = std::make_shared<FormedGroup>();
  group->roster.group_id = "id";
  for (const Placement::Node& node : requests.front().meeting.placement.nodes)
    group->roster.nodes.own().push_back({node.name, {}});
  for (const JoinRequest& request : requests) {
    const RankClaim& claim = request.self.claims.front();
    const int node = request.meeting.placement.node_of_rank[static_cast<size_t>(claim.rank)];
    group->roster.members.own().push_back({node, claim.local_rank, request.self.pid, {}, claim.rank});
  }
  return group;
}

// Without run.report no report of them has come before. The process above ended before their leave message had gone up from it:
// the root stayed for reports of theirs.
TEST(ReportHandoverOfALeaderTest, RanksThatHaveLeftAreReportedToo) {
  net::TestLoop loop;
  std::vector<JoinRequest> requests =
      MakeRequests({"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.4", "127.0.0.4"});
  for (JoinRequest& request : requests) {
    request.meeting.find_root = FindRoot::kFirstNode;
    request.fan_out = 2;
  }
  std::vector<OrphanReport> taken;
  RejoinHandler root(*loop, std::make_shared<const JoinRequest>(requests[0]), true,
                     RejoinHandler::Group{[](int) { return std::nullopt; },
                                          [&](const OrphanReport& report) {
                                            taken.push_back(report);
                                            return true;
                                          },
                                          [](const Hello&, const ProcessInfo&) { return std::nullopt; }});
  root.OpenToOrphans();
  auto [below, follower_end] = net::SocketPair();
  auto [to_parent, parent_end] = net::SocketPair();
  net::FrameStream follower(*loop, std::move(follower_end), kLongestMessage);
  follower.Start([](ByteView) {}, [](const Error&) {});
  auto children = std::make_unique<ChildLinks>();
  const ChildLinks::Source source = children->Add(
      std::make_unique<net::FrameStream>(*loop, std::move(below), kLongestMessage), "a follower", true);
  children->Find(source)->ranks = {4, 5};
  ControlPlane::Events events;
  int all_know = 0;
  events.on_all_know = [&] { ++all_know; };
  ControlPlane leader(
      *loop,
      {GroupOf(requests), std::make_unique<net::FrameStream>(*loop, std::move(to_parent), kLongestMessage),
       std::move(children), std::make_shared<const JoinRequest>(requests[3]), ""},
      {3}, requests[3].liveness, std::move(events));
  const RankEnd of_fourth{.rank = 4, .exit_code = 4};
  follower.Send(Encode(ExitReport{{of_fourth}, false}));
  follower.Send(Encode(RanksLeft{{4, 5}}));
  ASSERT_TRUE(loop.Until([&] { return leader.HasLeft(5); }));
  follower.CloseAfterFlush();
  parent_end.Reset();
  ASSERT_TRUE(loop.Until([&] { return all_know == 1; }));
  leader.exit_reports().Finish({{.rank = 3}}, std::chrono::seconds(60));
  ASSERT_TRUE(loop.Until([&] { return !taken.empty(); }));
  EXPECT_THAT(taken, ElementsAre(OrphanReport{"id", {of_fourth, {.rank = 3}, {.rank = 5}}}));
}

}  // namespace
}  // namespace muster::rendezvous
