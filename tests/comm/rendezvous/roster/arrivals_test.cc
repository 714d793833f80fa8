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
