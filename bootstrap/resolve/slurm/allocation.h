// Nodes that a batch system gave us. An allocation is not a launcher: a batch script has one and is not a
// rank.
#pragma once

#include <optional>
#include <string>

#include "bootstrap/environment/environment.h"

namespace muster::resolve {

struct Allocation {
  std::string manager;  // "slurm"
  std::string job_id;   // empty if unknown
  std::string
      kind;  // "batch script" "salloc shell" "interactive step" "ssh session" "step, its variables removed"
  std::string nodelist;  // as Slurm wrote it: "gpu[01-03]"; empty if unknown
  std::optional<int> num_nodes;
  std::optional<int> tasks;         // of the whole allocation
  std::optional<std::string> node;  // the node of this process, if known

  friend bool operator==(const Allocation&, const Allocation&) = default;
};

// The allocation around this process, whether or not it was also launched as a rank.
std::optional<Allocation> FindAllocation(const Environment& environment);

// "batch script of Slurm job 9 (4 tasks on n[1-2])"
std::string Describe(const Allocation& allocation);

// Exactly one task on one node and not heterogeneous: a world of one needs no launcher.
bool IsSingleTask(const Allocation& allocation, const Environment& environment);

}  // namespace muster::resolve
