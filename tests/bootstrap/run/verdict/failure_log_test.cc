#include "bootstrap/run/verdict/failure_log.h"

#include <gtest/gtest.h>

namespace muster::run {
namespace {

// Two ranks on each node.
RunPlace PlaceOf(int own_rank, int nodes = 2) {
  RunPlace place;
  for (int node = 0; node < nodes; ++node) {
    place.group.roster.nodes.push_back({"n" + std::to_string(node), {}});
    for (int local = 0; local < 2; ++local) {
      place.group.roster.members.push_back({node, local, 100 + 2 * node + local, {}});
    }
  }
  place.own_ranks = {own_rank};
  place.is_root = own_rank == 0;
  return place;
}

rendezvous::Failure ExitOf(int rank, int status = 1) {
  return {{Code::kPeerLost, "rank failed", ""}, rank, status, ""};
}
rendezvous::Failure LossOf(int rank) { return {{Code::kPeerLost, "rank lost", ""}, rank, -1, ""}; }

// The root; without it the first remaining rank of its node, and of the other nodes the first, the middle and
// the last.
TEST(FailureLog, TheProcessesThatLogAFailure) {
  const auto loggers = [](const rendezvous::Failure& failure, bool received) {
    std::vector<int> ranks;
    for (int rank = 0; rank < 20; ++rank) {
      if (LogOf(PlaceOf(rank, 10), failure, received, 0) == FailureLog::kFull) ranks.push_back(rank);
    }
    return ranks;
  };
  EXPECT_EQ(loggers(ExitOf(9), true), (std::vector<int>{0}));
  EXPECT_EQ(loggers(LossOf(0), false), (std::vector<int>{0, 1, 2, 10, 18}));
  // The leader of node 1 is lost: its other rank reports nothing.
  EXPECT_EQ(loggers(LossOf(2), false), (std::vector<int>{0, 10, 18}));
  // A node that is cut off from the root.
  EXPECT_EQ(loggers(LossOf(-1), false), (std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}));
}

TEST(FailureLog, ALogFileOfItsOwnGetsOneLine) {
  rendezvous::Failure failure = ExitOf(1, 3);
  failure.error.hint = "a hint";
  failure.logged_in = 7;
  const RunPlace place = PlaceOf(2);
  EXPECT_EQ(LogOf(place, failure, true, 0), FailureLog::kSilent);
  EXPECT_EQ(LogOf(place, failure, true, 7), FailureLog::kSilent);
  EXPECT_EQ(LogOf(place, failure, true, 8), FailureLog::kApart);
  EXPECT_EQ(FailureLine(place, failure, FailureLog::kApart),
            "ending because rank failed; the log of rank 0 on n0 has the cause");
  EXPECT_EQ(FailureLine(place, failure, FailureLog::kFull), ToString(failure.error));
  EXPECT_EQ(FailureLine(PlaceOf(1), failure, FailureLog::kApart),
            "rank failed; the log of rank 0 on n0 has the cause");
  failure.as_requested = true;
  EXPECT_EQ(FailureLine(place, failure, FailureLog::kApart),
            "ending: rank failed; the log of rank 0 on n0 has the cause");
}

TEST(FailureLog, TheFirstRemainingRankOfANodeClearsIt) {
  const auto lost = [](int own_rank, const rendezvous::Failure& failure, pid_t self = 1) {
    return LostSupervisor(PlaceOf(own_rank), failure, self);
  };
  EXPECT_EQ(lost(3, LossOf(2)), 102);
  EXPECT_EQ(lost(2, LossOf(3)), 103);
  EXPECT_EQ(lost(2, LossOf(3), 103), std::nullopt) << "its own process";
  EXPECT_EQ(lost(0, LossOf(3)), std::nullopt) << "another node";
  EXPECT_EQ(lost(2, ExitOf(3)), std::nullopt) << "its supervisor has ended it";
  EXPECT_EQ(lost(2, LossOf(-1)), std::nullopt);
  EXPECT_EQ(lost(2, LossOf(9)), std::nullopt);
  RunPlace alone = PlaceOf(0, 1);
  alone.group.roster.members.own().pop_back();
  EXPECT_EQ(LostSupervisor(alone, LossOf(0), 1), std::nullopt) << "no other supervisor";
}

}  // namespace
}  // namespace muster::run
