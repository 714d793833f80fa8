#include "comm/rendezvous/join/tree.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace muster::rendezvous {
namespace {

// A level more for a few nodes would cost more than it saves.
bool IsStar(size_t nodes, size_t fan_out) { return fan_out == 0 || nodes <= fan_out + fan_out / 7; }

// The names of a cluster differ at their ends.
bool IsNamed(const Placement::Node& node, const std::string& name) {
  return !name.empty() && node.name.ends_with(name.back()) && node.name == name;
}

// Only with the root on the first node does the list lead to it. The search begins at `likely`.
std::optional<size_t> NumberOf(const Meeting& meeting, const std::string& node, size_t likely = 0) {
  const std::vector<Placement::Node>& nodes = meeting.placement.nodes;
  if (meeting.find_root != FindRoot::kFirstNode) return std::nullopt;
  const auto is_named = [&node](const Placement::Node& one) { return IsNamed(one, node); };
  const auto middle = nodes.begin() + static_cast<ptrdiff_t>(std::min(likely, nodes.size()));
  auto found = std::find_if(middle, nodes.end(), is_named);
  if (found == nodes.end()) {
    found = std::find_if(nodes.begin(), middle, is_named);
    if (found == middle) return std::nullopt;
  }
  return static_cast<size_t>(found - nodes.begin());
}

}  // namespace

LeaderTree::LeaderTree(size_t nodes, size_t fan_out)
    : nodes_(nodes), fan_out_(IsStar(nodes, fan_out) ? std::max<size_t>(nodes, 1) : fan_out) {}

std::vector<size_t> LeaderTree::Above(size_t node) const {
  std::vector<size_t> above;
  if (node == 0) return above;
  const size_t parent = Parent(node);
  above.push_back(parent);
  if (parent == 0) return above;
  // The children of an absent node spread over all nodes beside it.
  const size_t beside = Children(Parent(parent)) - 1;
  if (beside > 0) {
    const size_t choice = FirstChild(Parent(parent)) + PlaceBelowParent(node) % beside;
    above.push_back(choice < parent ? choice : choice + 1);
  }
  std::ranges::copy(AboveParent(node), std::back_inserter(above));
  return above;
}

std::vector<size_t> LeaderTree::AboveParent(size_t node) const {
  std::vector<size_t> above;
  for (size_t next = Parent(node); next != 0;) above.push_back(next = Parent(next));
  return above;
}

size_t LeaderTree::Children(size_t node) const {
  const size_t first = FirstChild(node);
  return first < nodes_ ? std::min(fan_out_, nodes_ - first) : 0;
}

// The first of the nodes beside it has children if any of them has.
bool LeaderTree::AcceptsLeaders(size_t node) const {
  return Children(node) > 0 || (node > 0 && Children(FirstChild(Parent(node))) > 0);
}

std::vector<size_t> LeaderTree::Below(size_t node) const {
  std::vector<size_t> below;
  const auto add_children = [&](size_t parent) {
    for (size_t i = 0; i < Children(parent); ++i) below.push_back(FirstChild(parent) + i);
  };
  add_children(node);
  for (size_t i = 0; i < below.size(); ++i) add_children(below[i]);
  return below;
}

TreePlace PlaceInTree(const Meeting& meeting, const std::string& node, size_t fan_out) {
  const SharedList<Placement::Node>& nodes = meeting.placement.nodes;
  const std::optional<size_t> number = NumberOf(meeting, node);
  if (!number) return {};
  const LeaderTree tree(nodes.size(), fan_out);
  TreePlace place;
  for (const size_t above : tree.Above(*number)) place.above.push_back(nodes[above].name);
  place.children = tree.Children(*number);
  place.accepts_leaders = tree.AcceptsLeaders(*number);
  for (const size_t below : tree.Below(*number)) {
    const int tasks = nodes[below].tasks;
    place.ranks_below = tasks > 0 && place.ranks_below >= 0 ? place.ranks_below + tasks : -1;
  }
  return place;
}

bool IsAbove(const Meeting& meeting, const std::string& node, const std::string& child, size_t fan_out) {
  const LeaderTree tree(meeting.placement.nodes.size(), fan_out);
  const std::optional<size_t> above = NumberOf(meeting, node);
  const std::optional<size_t> below = above ? NumberOf(meeting, child, *above * fan_out + 1) : std::nullopt;
  return below && std::ranges::count(tree.Above(*below), *above) > 0;
}

// A leader whose parent was missing is connected to a node beside the parent, or to one above it.
Detour DetourAround(const Meeting& meeting, const std::string& lost, const std::string& node,
                    size_t fan_out) {
  const auto& nodes = meeting.placement.nodes;
  const std::optional<size_t> number = NumberOf(meeting, node);
  const std::optional<size_t> gone = NumberOf(meeting, lost);
  if (!number || !gone || *number == 0 || *gone == 0) return {};
  const LeaderTree tree(nodes.size(), fan_out);
  std::vector<size_t> above = tree.AboveParent(*number);
  const auto found = std::ranges::find(above, *gone);
  if (found != above.end()) above.erase(above.begin(), std::next(found));
  Detour detour{{}, tree.PlaceBelowParent(*number)};
  for (const size_t host : above) detour.hosts.push_back(nodes[host].name);
  return detour;
}

}  // namespace muster::rendezvous
