#include "comm/rendezvous/control/peer_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"
#include "tests/comm/rendezvous/control/silent_node.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

// The root, on a. The leader of b is above the one of d; c is beside b. A rank has the number of its node.
class PeerWatchTest : public testing::Test {
 protected:
  PeerWatchTest() {
    group.roster.nodes = {
        {"a", {"127.0.0.1"}}, {"b", {"127.0.0.2"}}, {"c", {"127.0.0.3"}}, {"d", {"127.0.0.4"}}};
    group.roster.members = {{0, 0, 1, {}, 0}, {1, 0, 1, {}, 1}, {2, 0, 1, {}, 2}, {3, 0, 1, {}, 3}};
    // The silence of c begins first.
    c = AddLeader({2});
    b = AddLeader({1, 3});
    PeerWatch::Events events;
    events.on_silent_behind = [this](const std::vector<int>& ranks) { behind = ranks; };
    watch = std::make_unique<PeerWatch>(
        PeerWatch::Params{links,
                          group,
                          leaves,
                          {milliseconds(20), milliseconds(200), std::chrono::hours(1)},
                          0,
                          0,
                          "",
                          d.address().port()},
        std::move(events));
  }

  struct Leader {
    ChildLinks::Source source = 0;
    std::unique_ptr<net::FrameStream> end;
    bool beats = false;
  };
  Leader AddLeader(const std::vector<int>& ranks) {
    auto [ours, theirs] = net::SocketPair();
    const auto source = links.children().Add(
        std::make_unique<net::FrameStream>(*loop, std::move(ours), kLongestMessage), "", false);
    links.children().Find(source)->ranks = ranks;
    return {source, std::make_unique<net::FrameStream>(*loop, std::move(theirs), kLongestMessage)};
  }
  void Beat() {
    for (const Leader* leader : {&b, &c}) {
      if (leader->beats) leader->end->Send(EncodeBare(ControlType::kHeartbeat));
    }
    beat = loop->After(milliseconds(20), [this] { Beat(); });
  }
  static std::unique_ptr<ChildLinks> Children() {
    auto children = std::make_unique<ChildLinks>();
    children->SetHandlers([](auto, auto) {}, [](auto, const auto&, const auto&) {});
    return children;
  }

  const LogCapture log;
  net::TestLoop loop;
  SilentNode d{"127.0.0.4"};
  FormedGroup group;
  TreeLinks links{*loop, nullptr, Children()};
  LeaveProtocol leaves{group.roster, true, {0}, {}};
  Leader b;
  Leader c;
  net::Timer beat;
  std::vector<int> behind;
  std::unique_ptr<PeerWatch> watch;
};

// All leaders are silent at first: none of them is known to live.
TEST_F(PeerWatchTest, ASecondSilenceOfALeaderIsJudgedByFreshProof) {
  ASSERT_TRUE(loop.Until(
      [&] { return log.Has("from rank 2 on c and of 1 other") || log.Has("from rank 1 on b for"); }));
  b.beats = c.beats = true;
  Beat();
  ASSERT_TRUE(loop.Until([&] { return log.Has("rank 1 on b can be reached again"); }));
  ASSERT_TRUE(loop.Until([&] { return log.Has("rank 2 on c can be reached again"); }));
  const size_t before = log.Text().size();
  b.beats = false;
  ASSERT_TRUE(loop.Until(
      [&] { return log.Text().find("no message from rank 1 on b", before) != std::string::npos; }));
  watch->LoseNodesBehind(b.source);
  ASSERT_TRUE(loop.Until([&] { return !behind.empty(); }));
  EXPECT_THAT(behind, ElementsAre(3));
}

// The leader of b, whose root on a is alive, loses c and d below it.
TEST(PeerWatchOfALeader, WithALivingProcessAboveItIsNotCutOff) {
  net::TestLoop loop;
  FormedGroup group;
  group.roster.nodes = {{"a", {}}, {"b", {}}, {"c", {}}, {"d", {}}};
  for (int rank = 0; rank < 4; ++rank) group.roster.members.push_back({rank, 0, 1, {}, rank});
  const auto stream = [&](UniqueFd fd) {
    return std::make_unique<net::FrameStream>(*loop, std::move(fd), kLongestMessage);
  };
  auto [to_root, to_leader] = net::TcpPairWithALongQueue();
  const auto root = stream(std::move(to_leader));
  auto children = std::make_unique<ChildLinks>();
  children->SetHandlers([](auto, auto) {}, [](auto, const auto&, const auto&) {});
  auto c = net::SocketPair();
  auto d = net::SocketPair();
  TreeLinks links(*loop, stream(std::move(to_root)), std::move(children));
  links.upstream()->Start([](ByteView) {}, [](const Error&) {});
  for (const auto& [rank, ends] : {std::pair(2, &c), std::pair(3, &d)}) {
    const auto source = links.children().Add(stream(std::move(ends->first)), "", false);
    links.children().Find(source)->ranks = {rank};
  }
  net::Timer beat;
  const std::function<void()> go = [&] {
    root->Send(EncodeBare(ControlType::kHeartbeat));
    beat = loop->After(milliseconds(20), go);
  };
  go();
  const LeaveProtocol leaves(group.roster, false, {1}, {});
  std::optional<Failure> failure;
  PeerWatch::Events events;
  events.on_silent = [&](const PeerWatch::Silent& silent) { failure = silent.failure; };
  const PeerWatch watch(
      {links, group, leaves, {milliseconds(20), milliseconds(600), milliseconds(700)}, 1, 0, "", 0},
      std::move(events));
  ASSERT_TRUE(loop.Until([&] { return failure.has_value(); }));
  EXPECT_THAT(failure->error.message,
              testing::StartsWith("ranks 2 on c, 3 on d fell silent: no message for "));
  EXPECT_EQ(failure->rank, 2);
}

}  // namespace
}  // namespace muster::rendezvous
