// The tree of leaders of a large launch: which leader connects to which. The nodes are numbered in the order of the launcher's
// list, so every process computes the same tree; the root is node 0. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "comm/meeting.h"

namespace muster::rendezvous {

// With its ranks, its listener and strangers a leader has some 128 connections.
inline constexpr size_t kFanOut = 112;

class LeaderTree {
 public:
  // All leaders connect to the root if they are hardly more than `fan_out`, or that is 0.
  LeaderTree(size_t nodes, size_t fan_out);

  // The nodes to connect to, in turn until one accepts: the parent, a node beside it, then the nodes above it, the root last.
  // Empty for the root.
  std::vector<size_t> Above(size_t node) const;
  // The last of these: the nodes above the parent, the root last.
  std::vector<size_t> AboveParent(size_t node) const;
  size_t Children(size_t node) const;
  // Whether other leaders may connect to it: its children, or those of an absent node beside it.
  bool AcceptsLeaders(size_t node) const;
  // The number of a node, from 0, among the children of its parent.
  size_t PlaceBelowParent(size_t node) const { return (node - 1) % fan_out_; }
  // All nodes that a node speaks for, without itself.
  std::vector<size_t> Below(size_t node) const;

 private:
  size_t Parent(size_t node) const { return (node - 1) / fan_out_; }
  size_t FirstChild(size_t node) const { return node * fan_out_ + 1; }

  size_t nodes_;
  size_t fan_out_;
};

// The tree, from the view of one node's leader.
struct TreePlace {
  std::vector<std::string> above;  // LeaderTree::Above; empty if the list does not lead to the root
  size_t children = 0;
  bool accepts_leaders = false;
  int ranks_below = 0;  // on the nodes below; -1: unknown

  friend bool operator==(const TreePlace&, const TreePlace&) = default;
};
TreePlace PlaceInTree(const Meeting& meeting, const std::string& node, size_t fan_out);

// Whether `child` may connect to `node`, which is not the root. A name that leads to another node than it names closes no
// circle of leaders.
bool IsAbove(const Meeting& meeting, const std::string& node, const std::string& child, size_t fan_out);

// The way of a leader around the lost node that it was connected to.
struct Detour {
  std::vector<std::string> hosts;  // the nodes above the lost one, the root last; empty: none
  size_t turn = 0;                 // of this leader among the children of one node

  friend bool operator==(const Detour&, const Detour&) = default;
};
Detour DetourAround(const Meeting& meeting, const std::string& lost, const std::string& node, size_t fan_out);

}  // namespace muster::rendezvous
