#include "comm/rendezvous/join/failure_notice.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

// Of four ranks on two nodes, two of them here.
ArrivedRanks Arrived(bool root, bool leader, int local, int remote, size_t told_nodes = 0) {
  return {root, leader, 4, 2, 2, local, remote, told_nodes};
}

ArrivedRanks WithoutLayout(ArrivedRanks arrived) {
  arrived.nodes = 0;
  arrived.local_size = -1;
  return arrived;
}

TEST(OthersMayCome, ToTheRootFromAnyNodeToALeaderFromItsOwn) {
  struct Row {
    const char* what;
    ArrivedRanks arrived;
    bool expected;
  };
  for (const Row& row : {
           Row{"a follower", Arrived(false, false, 1, 0), false},
           Row{"a leader without its follower", Arrived(false, true, 1, 0), true},
           Row{"a leader with its node", Arrived(false, true, 2, 0), false},
           Row{"a leader of unknown many", WithoutLayout(Arrived(false, true, 2, 0)), true},
           Row{"a root without its own node", Arrived(true, true, 1, 2, 1), true},
           Row{"a root whose other node is not told", Arrived(true, true, 2, 2), true},
           Row{"a root whose other node is told", Arrived(true, true, 2, 0, 1), false},
           Row{"a root without layout and a rank", WithoutLayout(Arrived(true, true, 1, 2)), true},
           Row{"a root without layout and all ranks", WithoutLayout(Arrived(true, true, 1, 3)), false},
       }) {
    EXPECT_EQ(OthersMayCome(row.arrived), row.expected) << row.what;
  }
}

TEST(TimeToStay, IsLateNodesAtMostAndEndsAtTheDeadline) {
  struct Row {
    const char* what;
    ArrivedRanks arrived;
    Code failure;
    seconds until_deadline;
    std::optional<seconds> expected;
  };
  const ArrivedRanks root = Arrived(true, true, 1, 0);
  for (const Row& row : {
           Row{"the deadline is far", root, Code::kPeerLost, seconds(60), seconds(10)},
           Row{"the deadline is near", root, Code::kPeerLost, seconds(3), seconds(3)},
           Row{"the deadline is over", root, Code::kPeerLost, seconds(-3), seconds(0)},
           Row{"it is the deadline", root, Code::kDeadline, seconds(60), std::nullopt},
           Row{"all are told", Arrived(true, true, 2, 2, 1), Code::kPeerLost, seconds(60), std::nullopt},
           Row{"a root without layout", WithoutLayout(root), Code::kPeerLost, seconds(60), seconds(10)},
           Row{"a leader", Arrived(false, true, 1, 0), Code::kPeerLost, seconds(60), seconds(10)},
           Row{"a leader that knows of no other", WithoutLayout(Arrived(false, true, 1, 0)), Code::kPeerLost,
               seconds(60), std::nullopt},
           Row{"a follower", Arrived(false, false, 1, 0), Code::kPeerLost, seconds(60), std::nullopt},
       }) {
    const std::optional<Duration> expected = row.expected;
    EXPECT_EQ(TimeToStay(row.arrived, row.failure, seconds(10), row.until_deadline), expected) << row.what;
  }
  EXPECT_EQ(TimeToStay(root, Code::kPeerLost, seconds(0), seconds(60)), std::nullopt);
}

TEST(DescribeLateRanks, CountsThoseOfTheGroupOrOfTheNode) {
  EXPECT_EQ(DescribeLateRanks(Arrived(true, true, 1, 0), "a"), "3 ranks");
  EXPECT_EQ(DescribeLateRanks(Arrived(true, true, 2, 1), "a"), "1 rank");
  EXPECT_EQ(DescribeLateRanks(Arrived(true, true, 2, 2), "a"), "the other ranks");
  EXPECT_EQ(DescribeLateRanks(Arrived(false, true, 1, 0), "a"), "1 rank of a");
  EXPECT_EQ(DescribeLateRanks(WithoutLayout(Arrived(false, true, 1, 0)), "a"), "the other ranks");
}

}  // namespace
}  // namespace muster::rendezvous
