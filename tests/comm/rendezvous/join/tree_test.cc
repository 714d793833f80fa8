#include "comm/rendezvous/join/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Nodes = std::vector<size_t>;

TEST(LeaderTree, FewNodesAreAStar) {
  struct Row {
    size_t nodes;
    size_t fan_out;
    size_t children_of_root;
    size_t children_of_first;
  };
  for (const Row& row : {
           Row{1, 112, 0, 0},
           Row{128, 112, 127, 0},
           Row{129, 112, 112, 16},
           Row{12657, 112, 112, 112},  // the whole of two levels
           Row{100000, 0, 99999, 0},   // never
           Row{2, 2, 1, 0},
           Row{3, 2, 2, 0},
           Row{4, 2, 2, 1},
       }) {
    const LeaderTree tree(row.nodes, row.fan_out);
    EXPECT_EQ(tree.Children(0), row.children_of_root) << row.nodes << " " << row.fan_out;
    EXPECT_EQ(tree.Children(1), row.children_of_first) << row.nodes << " " << row.fan_out;
  }
}

//            0
//      1     2     3
//   4 5 6  7 8 9  10 11
TEST(LeaderTree, ALeaderTriesItsParentThenANodeBesideThenThoseAbove) {
  const LeaderTree tree(12, 3);
  const std::map<size_t, Nodes> above = {{0, {}},        {1, {0}},        {3, {0}},       {4, {1, 2, 0}},
                                         {5, {1, 3, 0}}, {6, {1, 2, 0}},  {7, {2, 1, 0}}, {8, {2, 3, 0}},
                                         {9, {2, 1, 0}}, {10, {3, 1, 0}}, {11, {3, 2, 0}}};
  for (const auto& [node, expected] : above) EXPECT_EQ(tree.Above(node), expected) << node;
}

TEST(LeaderTree, TheNodeBesideTheParentNeedsNoChildren) {
  EXPECT_THAT(LeaderTree(5, 3).Above(4), ElementsAre(1, 2, 0));
  EXPECT_THAT(LeaderTree(4, 1).Above(3), ElementsAre(2, 1, 0));
}

// In these sizes no other node, one other node, and all other nodes beside the absent one have children.
TEST(LeaderTree, TheChildrenOfAnAbsentNodeGiveEachOtherAtMostTwoMore) {
  for (const size_t nodes : {130, 226, 300, 12657, 20000}) {
    const LeaderTree tree(nodes, kFanOut);
    std::map<size_t, size_t> more;
    for (size_t i = 0; i < tree.Children(1); ++i) ++more[tree.Above(tree.Below(1)[i])[1]];
    for (const auto& [node, count] : more) {
      EXPECT_LE(count, 2) << node << " of " << nodes;
      EXPECT_TRUE(tree.AcceptsLeaders(node)) << node << " of " << nodes;
    }
  }
}

TEST(LeaderTree, OnlyNodesThatAnotherMayConnectToAcceptLeaders) {
  const LeaderTree tree(12, 3);
  for (size_t node = 0; node < 12; ++node) EXPECT_EQ(tree.AcceptsLeaders(node), node < 4) << node;
  EXPECT_FALSE(LeaderTree(128, kFanOut).AcceptsLeaders(1));
}

TEST(LeaderTree, EachNodeIsBelowItsParentAndNoNodeHasMoreChildrenThanTheFanOut) {
  const LeaderTree tree(1000, 4);
  EXPECT_EQ(tree.Below(0).size(), 999);
  for (size_t node = 1; node < 1000; ++node) {
    const Nodes above = tree.Above(node);
    EXPECT_LE(tree.Children(node), 4);
    EXPECT_EQ(std::ranges::count(tree.Below(above.front()), node), 1) << node;
    EXPECT_EQ(above.back(), 0) << node;
  }
}

Meeting Launch(FindRoot find_root, int tasks) {
  Meeting meeting;
  meeting.find_root = find_root;
  for (const char* name : {"a", "b", "c", "d", "e"}) meeting.placement.nodes.push_back({name, tasks});
  return meeting;
}

TEST(PlaceInTree, HasTheNamesOfTheNodesAboveAndTheNumberOfRanksBelow) {
  const Meeting meeting = Launch(FindRoot::kFirstNode, 8);
  EXPECT_EQ(PlaceInTree(meeting, "a", 2), (TreePlace{{}, 2, true, 32}));
  EXPECT_EQ(PlaceInTree(meeting, "b", 2), (TreePlace{{"a"}, 2, true, 16}));
  EXPECT_EQ(PlaceInTree(meeting, "c", 2), (TreePlace{{"a"}, 0, true, 0}));
  EXPECT_EQ(PlaceInTree(meeting, "e", 2), (TreePlace{{"b", "c", "a"}, 0, false, 0}));
  EXPECT_EQ(PlaceInTree(meeting, "e", kFanOut), (TreePlace{{"a"}, 0, false, 0}));
  EXPECT_EQ(PlaceInTree(Launch(FindRoot::kFirstNode, 0), "b", 2), (TreePlace{{"a"}, 2, true, -1}));
}

TEST(PlaceInTree, WithoutTheRootOnTheFirstNodeThereIsNone) {
  EXPECT_EQ(PlaceInTree(Launch(FindRoot::kSearch, 8), "e", 2), TreePlace{});
  EXPECT_EQ(PlaceInTree(Launch(FindRoot::kFirstNode, 8), "f", 2), TreePlace{});
  EXPECT_THAT(PlaceInTree(Launch(FindRoot::kHost, 8), "a", 2).above, IsEmpty());
}

//       a
//    b     c
//   d e
TEST(IsAbove, NoNodeIsAboveItselfOrAboveThoseThatItConnectsTo) {
  const Meeting meeting = Launch(FindRoot::kFirstNode, 8);
  EXPECT_TRUE(IsAbove(meeting, "b", "d", 2));
  EXPECT_TRUE(IsAbove(meeting, "a", "d", 2));
  EXPECT_TRUE(IsAbove(meeting, "c", "d", 2)) << "in the place of b";
  EXPECT_FALSE(IsAbove(meeting, "b", "b", 2));
  EXPECT_FALSE(IsAbove(meeting, "d", "b", 2));
  EXPECT_FALSE(IsAbove(meeting, "b", "f", 2));
  EXPECT_FALSE(IsAbove(Launch(FindRoot::kSearch, 8), "b", "d", 2));
}

//       a
//    b     c
//   d e
TEST(DetourAround, LeadsToTheNodesAboveTheLostOneInTurns) {
  const Meeting meeting = Launch(FindRoot::kFirstNode, 8);
  EXPECT_EQ(DetourAround(meeting, "b", "d", 2), (Detour{{"a"}, 0}));
  EXPECT_EQ(DetourAround(meeting, "b", "e", 2), (Detour{{"a"}, 1}));
  // Its parent was missing.
  EXPECT_EQ(DetourAround(meeting, "c", "e", 2), (Detour{{"a"}, 1}));
  // A chain: a b c d e.
  EXPECT_EQ(DetourAround(meeting, "d", "e", 1).hosts, (std::vector<std::string>{"c", "b", "a"}));
  EXPECT_EQ(DetourAround(meeting, "c", "e", 1).hosts, (std::vector<std::string>{"b", "a"}));
}

TEST(DetourAround, ThereIsNoneAroundTheRootOrInAStar) {
  const Meeting meeting = Launch(FindRoot::kFirstNode, 8);
  EXPECT_THAT(DetourAround(meeting, "a", "b", 2).hosts, IsEmpty());
  EXPECT_THAT(DetourAround(meeting, "a", "e", 2).hosts, IsEmpty());
  EXPECT_THAT(DetourAround(meeting, "b", "e", kFanOut).hosts, IsEmpty());
  EXPECT_THAT(DetourAround(meeting, "b", "e", 0).hosts, IsEmpty());
  EXPECT_THAT(DetourAround(Launch(FindRoot::kSearch, 8), "b", "d", 2).hosts, IsEmpty());
}

}  // namespace
}  // namespace muster::rendezvous
