#include "comm/rendezvous/roster/arrivals.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

ProcessInfo Process(const std::string& node, int pid, int rank) {
  ProcessInfo info;
  info.node = node;
  info.pid = pid;
  info.claims = {{rank, 0, 1, {}}};
  return info;
}

TEST(ArrivedRanks, CountsAProcessOnceAlsoIfItComesAgainWithoutItsLeader) {
  ArrivedRanks arrived;
  arrived.Count({{}, {Process("a", 10, 0), Process("a", 11, 1)}}, false);
  ProcessInfo lost_leader = Process("a", 0, 0);
  arrived.Count({{}, {lost_leader, Process("a", 11, 1)}}, false);
  EXPECT_EQ(arrived.remote, 2);
}

// The root does not stay for ranks that it takes for missing because two processes have one rank.
TEST(ArrivedRanks, CountsTwoProcessesOfOneRankTwice) {
  ArrivedRanks arrived;
  arrived.Count({{}, {Process("a", 10, 0)}}, false);
  arrived.Count({{}, {Process("b", 10, 0)}}, false);
  EXPECT_EQ(arrived.remote, 2);
}

// Its followers report it, and one of them may be the root.
TEST(ArrivedRanks, CountsALostLeaderThatHadNotCome) {
  ArrivedRanks arrived;
  for (int i = 0; i < 2; ++i) arrived.Count({{}, {Process("a", 0, 0), Process("a", 11, 1)}}, true);
  EXPECT_EQ(arrived.local, 2);
  arrived.Discount({Process("a", 0, 0), Process("a", 11, 1)}, true);
  EXPECT_EQ(arrived.local, 0);
}

// The root counted that leader twice, and did not stay for a late rank of its node.
TEST(ArrivedRanks, CountsALostLeaderOnceIfItsOwnHelloComesAfterTheReport) {
  ArrivedRanks arrived;
  arrived.Count({{}, {Process("a", 0, 0), Process("a", 11, 1)}}, false);
  arrived.Count({{}, {Process("a", 10, 0)}}, false);
  EXPECT_EQ(arrived.remote, 2);
  arrived.Discount({Process("a", 10, 0)}, false);
  EXPECT_EQ(arrived.remote, 2);
}

TEST(ArrivedRanks, ANodeIsWholeWithAsManyRanksAsItsProcessesClaim) {
  const auto process = [](const std::string& node, int rank, int local_size) {
    ProcessInfo info = Process(node, 10, rank);
    info.claims.front().local_size = local_size;
    return info;
  };
  ArrivedRanks arrived;
  arrived.Count({{}, {process("a", 0, 2), process("b", 2, -1), process("c", 3, 1)}}, false);
  EXPECT_EQ(arrived.whole_nodes, 2);
  arrived.Count({{}, {process("a", 1, 2)}}, false);
  EXPECT_EQ(arrived.whole_nodes, 3);
  arrived.Discount({process("a", 1, 2), process("b", 2, -1)}, false);
  EXPECT_EQ(arrived.whole_nodes, 1);
}

// Each rank is in a container with process numbers of its own.
TEST(ArrivedRanks, CountsTwoProcessesOfOneNumber) {
  ArrivedRanks arrived;
  arrived.Count({{}, {Process("a", 7, 0), Process("a", 7, 1)}}, true);
  EXPECT_EQ(arrived.local, 2);
}

TEST(ArrivedRanks, CountsAgainAfterDiscount) {
  ArrivedRanks arrived;
  arrived.Count({{}, {Process("a", 10, 0)}}, true);
  arrived.Discount({Process("a", 10, 0)}, true);
  EXPECT_EQ(arrived.local, 0);
  arrived.Count({{}, {Process("a", 10, 0)}}, true);
  EXPECT_EQ(arrived.local, 1);
}

}  // namespace
}  // namespace muster::rendezvous
