// The ranks of a map that take further items, counted by node. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace muster::map {

constexpr int kNoNode = -1;

struct RankPlace {
  int rank = 0;
  int node = 0;
};

class WorkingRanks {
 public:
  void Add(int node) {
    ++of_node_[node];
    ++ranks_;
  }
  void Remove(int node) {
    const auto found = of_node_.find(node);
    if (--found->second == 0) of_node_.erase(found);
    --ranks_;
  }
  bool Has(int node) const { return of_node_.contains(node); }
  size_t nodes() const { return of_node_.size(); }
  uint64_t ranks() const { return ranks_; }

 private:
  std::map<int, uint64_t> of_node_;
  uint64_t ranks_ = 0;
};

}  // namespace muster::map
