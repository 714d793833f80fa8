#include "comm/rendezvous/survey/surveyor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::Pair;

// A process that has left may end without an answer.
TEST(Surveyor, DoesNotWaitForRanksThatLeaveMeanwhile) {
  net::TestLoop loop;
  Roster roster;
  roster.nodes.push_back({"a", {}});
  ChildLinks children;
  Surveyor surveyor(*loop, {.roster = roster,
                            .children = children,
                            .own_ranks = {3, 5},
                            .has_left = [](int) { return false; },
                            .report_own = [](const Survey&, const auto&) {}});
  std::optional<Surveyed> answer;
  surveyor.AskBelow({.milliseconds = 3600000}, [&](Surveyed come) { answer = std::move(come); });
  surveyor.NoteLeft({3, 4});
  EXPECT_FALSE(answer) << "rank 5 is at work";
  surveyor.NoteLeft({5});
  ASSERT_TRUE(answer);
  std::vector<std::pair<int, RankState>> states;
  for (const RankReport& report : answer->reports) states.emplace_back(report.rank, report.state);
  EXPECT_THAT(states, ElementsAre(Pair(3, RankState::kLeft), Pair(5, RankState::kLeft)));
}

}  // namespace
}  // namespace muster::rendezvous
