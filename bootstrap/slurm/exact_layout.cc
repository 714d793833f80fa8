#include "bootstrap/slurm/exact_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace muster::slurm {
namespace {

size_t TasksOf(const SlurmAnswer::Layout& layout) {
  size_t tasks = 0;
  for (const SlurmAnswer::Node& node : layout) tasks += node.tasks.size();
  return tasks;
}

// Slurm gives the components of `srun A : B` inside one job as one layout, in which the tasks of each begin
// again from 0.
std::vector<SlurmAnswer::Layout> Apart(const SlurmAnswer::Layout& layout) {
  std::vector<SlurmAnswer::Layout> components;
  std::set<int> seen;
  for (const SlurmAnswer::Node& node : layout) {
    const bool again = std::ranges::any_of(node.tasks, [&](int task) { return seen.contains(task); });
    if (components.empty() || again) {
      components.emplace_back();
      seen.clear();
    }
    components.back().push_back(node);
    seen.insert(node.tasks.begin(), node.tasks.end());
  }
  return components;
}

class Places {
 public:
  explicit Places(const Placement& known) : nodes_(known.nodes) {
    for (size_t i = 0; i < known.nodes.size(); ++i) index_.emplace(known.nodes[i].name, static_cast<int>(i));
    for (Placement::Node& node : nodes_) node.tasks = 0;
  }

  bool Add(const SlurmAnswer::Layout& component) {
    const size_t first = node_of_rank_.size();
    node_of_rank_.resize(first + TasksOf(component), -1);
    for (const SlurmAnswer::Node& node : component) {
      const auto found = index_.find(node.name);
      if (found == index_.end()) return false;
      for (const int task : node.tasks) {
        if (!Put(first + static_cast<size_t>(task), found->second)) return false;
      }
    }
    return true;
  }

  Placement Take() { return {std::move(nodes_), std::move(node_of_rank_)}; }

 private:
  bool Put(size_t rank, int node) {
    if (rank >= node_of_rank_.size() || node_of_rank_[rank] >= 0) return false;
    node_of_rank_[rank] = node;
    ++nodes_[static_cast<size_t>(node)].tasks;
    return true;
  }

  std::vector<Placement::Node> nodes_;
  std::vector<int> node_of_rank_;
  std::map<std::string_view, int> index_;
};

bool SameCounts(const Placement& known, const Placement& found) {
  for (size_t i = 0; i < known.nodes.size(); ++i) {
    if (found.nodes[i].tasks == 0) return false;
    if (known.nodes[i].tasks != 0 && known.nodes[i].tasks != found.nodes[i].tasks) return false;
  }
  return true;
}

std::vector<int> RanksOn(const Placement& placement, const std::string& name) {
  std::vector<int> ranks;
  for (size_t rank = 0; rank < placement.node_of_rank.size(); ++rank) {
    const auto node = static_cast<size_t>(placement.node_of_rank[rank]);
    if (placement.nodes[node].name == name) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

}  // namespace

std::optional<Placement> ExactLayout(const Placement& known,
                                     const std::vector<std::optional<SlurmAnswer::Layout>>& components,
                                     const std::string& node, const std::vector<int>& here) {
  Places places(known);
  for (const auto& component : components) {
    if (!component) continue;
    for (const SlurmAnswer::Layout& part : Apart(*component)) {
      if (!places.Add(part)) return std::nullopt;
    }
  }
  Placement placement = places.Take();
  if (placement.node_of_rank.empty() || !SameCounts(known, placement)) return std::nullopt;
  std::vector<int> expected = here;
  std::ranges::sort(expected);
  if (RanksOn(placement, node) != expected) return std::nullopt;
  return placement;
}

}  // namespace muster::slurm
