#include "comm/rendezvous/control/subtree_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/comm/net/test_loop.h"
#include "tests/comm/rendezvous/control/silent_node.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kAttempt = milliseconds(50);
constexpr ChildLinks::Source kLeader = 1;
constexpr ChildLinks::Source kOtherLeader = 2;

class SubtreeProbeTest : public testing::Test {
 protected:
  static net::SocketAddress Living() {
    return *net::SocketAddress::FromNumeric("127.0.0.1", net::FreePort());
  }
  void Start(const net::SocketAddress& living) {
    probe = std::make_unique<SubtreeProbe>(
        *loop, std::vector{living}, [this](const std::vector<int>& nodes) { reported.push_back(nodes); },
        kAttempt);
  }

  net::TestLoop loop;
  SilentNode dead;
  std::vector<std::vector<int>> reported;
  std::unique_ptr<SubtreeProbe> probe;
};

TEST_F(SubtreeProbeTest, SilentNodesAreReportedWhenTheirLeaderIsLost) {
  Start(Living());
  probe->Begin(kLeader, {{3, {dead.address()}}, {4, {dead.address()}}});
  probe->Begin(kOtherLeader, {{5, {dead.address()}}});
  probe->Lose(kOtherLeader);
  ASSERT_TRUE(loop.Until([&] { return !reported.empty(); }));
  EXPECT_THAT(reported, ElementsAre(ElementsAre(5))) << "the first leader may come back";
  probe->Lose(kLeader);
  EXPECT_THAT(reported, ElementsAre(ElementsAre(5), ElementsAre(3, 4))) << "without a further wait";
  probe->Lose(kLeader);
  loop.For(4 * kAttempt);
  EXPECT_EQ(reported.size(), 2u);
}

TEST_F(SubtreeProbeTest, IfTheLeaderIsLostEarlierTheyAreReportedAfterTwoAttempts) {
  Start(Living());
  const auto began = Clock::now();
  probe->Begin(kLeader, {{3, {dead.address()}}});
  probe->Lose(kLeader);
  EXPECT_THAT(reported, IsEmpty());
  ASSERT_TRUE(loop.Until([&] { return !reported.empty(); }));
  EXPECT_GE(Clock::now() - began, 2 * kAttempt);
  EXPECT_THAT(reported, ElementsAre(ElementsAre(3)));
}

TEST_F(SubtreeProbeTest, ANodeThatAnswersIsNotLost) {
  Start(Living());
  probe->Begin(kLeader, {{3, {Living()}}, {4, {dead.address()}}, {5, {dead.address(), Living()}}});
  probe->Lose(kLeader);
  ASSERT_TRUE(loop.Until([&] { return !reported.empty(); }));
  loop.For(4 * kAttempt);
  EXPECT_THAT(reported, ElementsAre(ElementsAre(4)));
}

// Its present attempt is answered, and not over, when its leader is lost.
TEST_F(SubtreeProbeTest, ANodeThatAnswersInTimeIsNotLost) {
  auto late = std::make_unique<SilentNode>();
  std::ptrdiff_t without_attempts = 0;
  probe = std::make_unique<SubtreeProbe>(
      *loop, std::vector{Living()},
      [&](const std::vector<int>& nodes) {  // between two attempts
        reported.push_back(nodes);
        late.reset();
        without_attempts = net::OpenDescriptors();
      },
      kAttempt);
  probe->Begin(kLeader, {{3, {late->address()}}});
  probe->Begin(kOtherLeader, {{4, {dead.address()}}});
  probe->Lose(kOtherLeader);
  ASSERT_TRUE(loop.Until([&] { return !reported.empty() && net::OpenDescriptors() == without_attempts; }));
  probe->Lose(kLeader);
  loop.For(4 * kAttempt);
  EXPECT_THAT(reported, ElementsAre(ElementsAre(4)));
}

TEST_F(SubtreeProbeTest, AnAddressThatCannotBeAskedLeavesTheDecisionToTheOthers) {
  const net::SocketAddress unreachable = *net::SocketAddress::FromNumeric("224.0.0.1", 1);  // not by TCP
  const UniqueFd listener = *net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0));
  Start(Living());
  probe->Begin(kLeader, {{3, {unreachable, net::LocalAddress(listener.get())}},
                         {4, {unreachable, dead.address()}},
                         {5, {unreachable}}});
  probe->Lose(kLeader);
  ASSERT_TRUE(loop.Until([&] { return !reported.empty(); }));
  loop.For(4 * kAttempt);
  EXPECT_THAT(reported, ElementsAre(ElementsAre(4)));
  int connections = 0;
  while (UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC))) ++connections;
  EXPECT_EQ(connections, 1) << "it has answered";
}

TEST_F(SubtreeProbeTest, SilenceProvesNothingIfNoLivingNodeAnswers) {
  Start(dead.address());
  probe->Begin(kLeader, {{3, {dead.address()}}});
  probe->Lose(kLeader);
  loop.For(5 * kAttempt);
  EXPECT_THAT(reported, IsEmpty());
}

TEST_F(SubtreeProbeTest, ALeaderThatIsNoLongerSilentAnswersForItsNodes) {
  Start(Living());
  probe->Begin(kLeader, {{3, {dead.address()}}});
  probe->Begin(kOtherLeader, {{4, {dead.address()}}});
  loop.For(kAttempt);
  probe->Forget(kLeader);
  probe->Lose(kLeader);
  probe->Lose(kOtherLeader);
  ASSERT_TRUE(loop.Until([&] { return !reported.empty(); }));
  EXPECT_THAT(reported, ElementsAre(ElementsAre(4)));
}

TEST_F(SubtreeProbeTest, AWholeSubtreeIsAskedAFewNodesAtATime) {
  Start(Living());
  std::vector<SubtreeProbe::Node> nodes;
  for (int number = 0; number < 40; ++number) nodes.push_back({number, {dead.address()}});
  loop.Settle();
  const auto before = net::OpenDescriptors();
  probe->Begin(kLeader, nodes);
  EXPECT_EQ(net::OpenDescriptors() - before, 16);
  probe->Lose(kLeader);
  size_t known = 0;
  ASSERT_TRUE(loop.Until([&] {
    known = 0;
    for (const auto& some : reported) known += some.size();
    return known == nodes.size();
  }));
  EXPECT_EQ(net::OpenDescriptors(), before);
}

}  // namespace
}  // namespace muster::rendezvous
