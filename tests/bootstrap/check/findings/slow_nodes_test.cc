#include "bootstrap/check/findings/slow_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::check {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr socket::LinkFigures kGood{45'000, 0, 1'000'000'000, 1'000'000'000};

std::vector<NodeLinks> Nodes(const std::vector<socket::LinkFigures>& figures) {
  std::vector<NodeLinks> links;
  for (const socket::LinkFigures& one : figures) links.push_back({{}, 3, one});
  return links;
}

socket::LinkFigures WithRoundTrip(int64_t round_trip_ns) {
  socket::LinkFigures figures = kGood;
  figures.round_trip_ns = round_trip_ns;
  return figures;
}

socket::LinkFigures WithOut(uint64_t out) {
  socket::LinkFigures figures = kGood;
  figures.out_bytes_per_s = out;
  return figures;
}

TEST(FindSlowNodes, NamesNobodyWhereAllAreAlike) {
  EXPECT_THAT(FindSlowNodes(Nodes({kGood, kGood, kGood, kGood})), IsEmpty());
}

TEST(FindSlowNodes, NamesAFarNode) {
  EXPECT_THAT(FindSlowNodes(Nodes({kGood, kGood, WithRoundTrip(20'000'000), kGood})),
              ElementsAre(SlowNode{2, "round trip 20 ms, the median node 45 us"}));
}

TEST(FindSlowNodes, NamesANarrowNodeInEitherDirection) {
  socket::LinkFigures narrow = kGood;
  narrow.in_bytes_per_s = 12'000'000;
  EXPECT_THAT(FindSlowNodes(Nodes({WithOut(400'000'000), kGood, kGood, narrow, kGood})),
              ElementsAre(SlowNode{0, "out 400 MB/s, the median node 1.0 GB/s"},
                          SlowNode{3, "in 12 MB/s, the median node 1.0 GB/s"}));
}

TEST(FindSlowNodes, SaysEverythingThatIsOff) {
  EXPECT_THAT(FindSlowNodes(Nodes({kGood, kGood, {9'000'000, 0, 1'000'000, 2'000'000}})),
              ElementsAre(SlowNode{2,
                                   "round trip 9.0 ms, the median node 45 us; out 1.0 MB/s, the median node "
                                   "1.0 GB/s; in 2.0 MB/s, the median node 1.0 GB/s"}));
}

TEST(FindSlowNodes, MicrosecondsAreNothing) {
  EXPECT_THAT(FindSlowNodes(Nodes({kGood, kGood, kGood, WithRoundTrip(245'000)})), IsEmpty());
}

TEST(FindSlowNodes, HalfTheBandwidthIsNotSlow) {
  EXPECT_THAT(FindSlowNodes(Nodes({kGood, kGood, kGood, WithOut(500'000'000)})), IsEmpty());
}

TEST(FindSlowNodes, TwoKindsOfNodesAreNotSlow) {
  EXPECT_THAT(FindSlowNodes(Nodes({WithOut(100'000'000), WithOut(110'000'000), kGood, kGood, kGood})),
              ElementsAre(SlowNode{0, "out 100 MB/s, the median node 1.0 GB/s"},
                          SlowNode{1, "out 110 MB/s, the median node 1.0 GB/s"}));
  EXPECT_THAT(FindSlowNodes(Nodes({WithOut(100'000'000), WithOut(110'000'000), kGood, kGood})), IsEmpty());
}

TEST(FindSlowNodes, WhatDiffersAnywayMustDifferMore) {
  const auto spread = Nodes({WithOut(2'000'000'000), WithOut(1'000'000'000), WithOut(500'000'000),
                             WithOut(1'800'000'000), WithOut(300'000'000)});
  EXPECT_THAT(FindSlowNodes(spread), IsEmpty());
}

TEST(FindSlowNodes, OfTwoNobodyCanSay) {
  EXPECT_THAT(FindSlowNodes(Nodes({kGood, WithRoundTrip(20'000'000)})), IsEmpty());
}

TEST(FindSlowNodes, PassesOverWhoMeasuredNothing) {
  auto nodes = Nodes({kGood, kGood, kGood});
  nodes.push_back({{}, 0, {}});
  EXPECT_THAT(FindSlowNodes(nodes), IsEmpty());
}

TEST(FindSlowNodes, JudgesNoBandwidthThatWasNotMeasured) {
  EXPECT_THAT(FindSlowNodes(Nodes({{45'000, 0, 0, 0}, {45'000, 0, 0, 0}, {46'000, 0, 0, 0}})), IsEmpty());
}

}  // namespace
}  // namespace muster::check
