#include "comm/socket/algorithms/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/comm/socket/fake_group.h"

namespace muster::socket {
namespace {

using testing::ElementsAre;

TEST(Topology, KnowsWhoSharesANode) {
  const Topology topology(MakeRoster(CyclicLayout(5, 2)), 3);
  EXPECT_THAT(topology.nodes(), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3)));
  EXPECT_THAT(topology.everyone().ranks, ElementsAre(0, 2, 4, 1, 3));
  EXPECT_EQ(topology.everyone().index, 4);
  EXPECT_THAT(topology.leaders().ranks, ElementsAre(0, 1));
  EXPECT_EQ(topology.leaders().index, -1);
  EXPECT_THAT(topology.local().ranks, ElementsAre(1, 3));
  EXPECT_EQ(topology.local().index, 1);
  EXPECT_FALSE(topology.single_node());
  EXPECT_FALSE(topology.one_rank_per_node());
}

// All ranks' views of one tree must be the same tree, over all ranks.
void ExpectOneTree(const Roster& roster, int root, TreeShape shape) {
  std::map<int, int> parent_by_child;
  std::map<int, int> parent_by_parent;
  for (int rank = 0; rank < roster.size(); ++rank) {
    const Topology topology(roster, rank);
    const Tree tree = MakeTree(topology, root, shape);
    const std::vector<int> order = TreeOrder(topology, root);
    EXPECT_EQ(order.at(tree.begin), rank);
    if (tree.parent >= 0) parent_by_child[rank] = tree.parent;
    size_t below = 1;
    for (const Branch& child : tree.children) {
      parent_by_parent[child.rank] = rank;
      EXPECT_EQ(order.at(child.begin), child.rank);
      EXPECT_GT(child.begin, tree.begin);
      EXPECT_LE(child.end, tree.end);
      below += child.end - child.begin;
    }
    EXPECT_EQ(below, tree.end - tree.begin);
    EXPECT_TRUE(rank != root || below == static_cast<size_t>(roster.size()));
  }
  EXPECT_EQ(parent_by_child, parent_by_parent);
  EXPECT_EQ(parent_by_child.size(), static_cast<size_t>(roster.size()) - 1);
  EXPECT_FALSE(parent_by_child.contains(root));
}

TEST(MakeTree, IsOneTreeOnAllRanks) {
  constexpr Shape kShapes[] = {Shape::kFlat, Shape::kBinomial, Shape::kChain};
  for (const std::vector<int>& layout : {BlockLayout({1}), BlockLayout({7}), BlockLayout({3, 1, 5}),
                                         CyclicLayout(11, 3), CyclicLayout(8, 8)}) {
    const Roster roster = MakeRoster(layout);
    for (const Shape nodes : kShapes) {
      for (const Shape local : kShapes) {
        for (int root = 0; root < roster.size(); ++root) ExpectOneTree(roster, root, {nodes, local});
      }
    }
  }
}

TEST(MakeTree, EntersEachNodeOnce) {
  const Roster roster = MakeRoster(BlockLayout({4, 4, 4, 4}));
  int crossings = 0;
  for (int rank = 0; rank < roster.size(); ++rank) {
    const Tree tree = MakeTree(Topology(roster, rank), 5, {Shape::kBinomial, Shape::kFlat});
    for (const Branch& child : tree.children)
      crossings += roster.NodeOf(child.rank) != roster.NodeOf(rank) ? 1 : 0;
  }
  EXPECT_EQ(crossings, 3);
}

TEST(MakeTeamTree, PutsTheFirstAtTheRoot) {
  const Team team{{4, 9, 2, 7, 5}, 0};
  const Tree tree = MakeTeamTree(team, Shape::kBinomial);
  EXPECT_EQ(tree.parent, -1);
  ASSERT_EQ(tree.children.size(), 3U);
  EXPECT_EQ(tree.children[0].rank, 5);
  EXPECT_EQ(tree.children[1].rank, 2);
  EXPECT_EQ(tree.children[2].rank, 9);
  EXPECT_EQ(MakeTeamTree({{4, 9, 2, 7, 5}, 3}, Shape::kBinomial).parent, 2);
}

}  // namespace
}  // namespace muster::socket
