#include "comm/rendezvous/control/report_handover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/rendezvous/control/rejoin_handler.h"
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

}  // namespace
}  // namespace muster::rendezvous
