#include "comm/socket/algorithms/topology.h"

#include <algorithm>

namespace muster::socket {
namespace {

// Indexes 0..size-1 with 0 as the root. The subtree of each index is a contiguous run [index, SubtreeEnd).
int ParentIndex(Shape shape, int index) {
  if (index == 0) return -1;
  if (shape == Shape::kFlat) return 0;
  return shape == Shape::kChain ? index - 1 : index & (index - 1);
}

int SubtreeEnd(Shape shape, int index, int size) {
  if (index == 0 || shape == Shape::kChain) return size;
  if (shape == Shape::kFlat) return index + 1;
  return std::min(size, index + (index & -index));
}

std::vector<int> ChildIndexes(Shape shape, int index, int size) {
  std::vector<int> children;
  if (shape == Shape::kFlat) {
    if (index == 0) {
      for (int child = 1; child < size; ++child) children.push_back(child);
    }
    return children;
  }
  if (shape == Shape::kChain) {
    if (index + 1 < size) children.push_back(index + 1);
    return children;
  }
  const int limit = SubtreeEnd(shape, index, size) - index;
  for (int step = 1; step < limit; step *= 2) children.push_back(index + step);
  std::ranges::reverse(children);
  return children;
}

// The nodes with the root's first, and their ranks with the representative first.
class RootedLayout {
 public:
  RootedLayout(const Topology& topology, int root) : topology_(topology), root_(root) {
    const int nodes = static_cast<int>(topology.nodes().size());
    const int first = topology.node_of(root);
    size_t position = 0;
    for (int i = 0; i < nodes; ++i) {
      node_at_.push_back((first + i) % nodes);
      begin_.push_back(position);
      position += topology.nodes()[static_cast<size_t>(node_at_.back())].size();
    }
    begin_.push_back(position);
  }

  int size() const { return static_cast<int>(node_at_.size()); }
  int IndexOfNode(int node) const { return (node - node_at_.front() + size()) % size(); }
  size_t Begin(int index) const { return begin_[static_cast<size_t>(index)]; }
  int Representative(int index) const { return index == 0 ? root_ : NodeAt(index).front(); }
  // The representative, then the remaining ranks by local rank.
  std::vector<int> RanksAt(int index) const {
    std::vector<int> ranks = NodeAt(index);
    const auto found = std::ranges::find(ranks, Representative(index));
    std::rotate(ranks.begin(), found, found + 1);
    return ranks;
  }

 private:
  const std::vector<int>& NodeAt(int index) const {
    return topology_.nodes()[static_cast<size_t>(node_at_[static_cast<size_t>(index)])];
  }
  const Topology& topology_;
  int root_;
  std::vector<int> node_at_;
  std::vector<size_t> begin_;
};

int IndexIn(const std::vector<int>& ranks, int rank) {
  return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
}

void AddLocalChildren(Tree& tree, const std::vector<int>& ranks, int index, size_t base, Shape shape) {
  const int size = static_cast<int>(ranks.size());
  for (const int child : ChildIndexes(shape, index, size)) {
    tree.children.push_back({ranks[static_cast<size_t>(child)], base + static_cast<size_t>(child),
                             base + static_cast<size_t>(SubtreeEnd(shape, child, size))});
  }
}

}  // namespace

Topology::Topology(const Roster& roster, int rank) : nodes_(roster.nodes.size()) {
  Roster::Places places = roster.PlacesOfAll();
  node_of_ = std::move(places.nodes);
  for (int r = 0; r < roster.size(); ++r) nodes_[static_cast<size_t>(node_of(r))].push_back(r);
  for (std::vector<int>& ranks : nodes_)
    std::ranges::sort(ranks, {}, [&](int r) { return places.local_ranks[static_cast<size_t>(r)]; });
  for (const std::vector<int>& ranks : nodes_) {
    everyone_.ranks.insert(everyone_.ranks.end(), ranks.begin(), ranks.end());
    leaders_.ranks.push_back(ranks.front());
  }
  everyone_.index = IndexIn(everyone_.ranks, rank);
  local_.ranks = nodes_[static_cast<size_t>(node_of(rank))];
  local_.index = IndexIn(local_.ranks, rank);
  if (local_.index == 0) leaders_.index = node_of(rank);
}

Tree MakeTree(const Topology& topology, int root, TreeShape shape) {
  const RootedLayout layout(topology, root);
  const int index = layout.IndexOfNode(topology.node_of(topology.rank()));
  const std::vector<int> ranks = layout.RanksAt(index);
  const int local = IndexIn(ranks, topology.rank());
  const size_t base = layout.Begin(index);
  Tree tree;
  tree.begin = base + static_cast<size_t>(local);
  if (local > 0) {
    tree.parent = ranks[static_cast<size_t>(ParentIndex(shape.local, local))];
    tree.end = base + static_cast<size_t>(SubtreeEnd(shape.local, local, static_cast<int>(ranks.size())));
  } else {
    if (index > 0) tree.parent = layout.Representative(ParentIndex(shape.nodes, index));
    tree.end = layout.Begin(SubtreeEnd(shape.nodes, index, layout.size()));
    for (const int child : ChildIndexes(shape.nodes, index, layout.size())) {
      tree.children.push_back({layout.Representative(child), layout.Begin(child),
                               layout.Begin(SubtreeEnd(shape.nodes, child, layout.size()))});
    }
  }
  AddLocalChildren(tree, ranks, local, base, shape.local);
  return tree;
}

std::vector<int> TreeOrder(const Topology& topology, int root) {
  const RootedLayout layout(topology, root);
  std::vector<int> order;
  for (int index = 0; index < layout.size(); ++index) {
    const std::vector<int> ranks = layout.RanksAt(index);
    order.insert(order.end(), ranks.begin(), ranks.end());
  }
  return order;
}

Tree MakeTeamTree(const Team& team, Shape shape) {
  Tree tree;
  const int parent = ParentIndex(shape, team.index);
  if (parent >= 0) tree.parent = team.at(parent);
  tree.begin = static_cast<size_t>(team.index);
  tree.end = static_cast<size_t>(SubtreeEnd(shape, team.index, team.size()));
  AddLocalChildren(tree, team.ranks, team.index, 0, shape);
  return tree;
}

}  // namespace muster::socket
