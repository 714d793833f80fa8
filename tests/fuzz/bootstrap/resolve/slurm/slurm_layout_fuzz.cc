// Slurm's layout variables: counts per node, task ids, and the node of each rank. And slurmstepd's own name.
#include <algorithm>

#include "bootstrap/environment/ancestry.h"
#include "bootstrap/resolve/slurm/placement.h"
#include "bootstrap/resolve/slurm/slurm_variables.h"
#include "bootstrap/resolve/slurm/tasks_per_node.h"
#include "comm/base/parse.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

constexpr size_t kMostNodes = 262144;

void CheckCounts(std::string_view text) {
  const auto counts = resolve::ParseTasksPerNode(text);
  if (!counts) {
    Require(counts.error().code == Code::kBadEnvironment, "{}", counts.error().message);
    return;
  }
  Require(!counts->empty() && counts->size() <= kMostNodes, "{} nodes", counts->size());
  Require(std::ranges::all_of(*counts, [](int count) { return count >= 0; }), "counts are not negative");
  Require(resolve::SumOf(*counts) >= *std::ranges::max_element(*counts), "the sum does not wrap");
  std::string again;
  for (const int count : *counts) again += (again.empty() ? "" : ",") + std::to_string(count);
  Require(*resolve::ParseTasksPerNode(again) == *counts, "\"{}\" written out is the same", text);
}

void CheckTaskIds(std::string_view text) {
  const auto ids = resolve::ParseTaskIds(text);
  if (!ids) return;
  Require(!ids->empty() && ids->front() >= 0, "there is a task");
  Require(std::ranges::adjacent_find(*ids, std::ranges::greater_equal{}) == ids->end(), "ascending");
}

void CheckPlacement(const Environment& environment) {
  const auto placement = resolve::PlacementOfSlurmStep(environment);
  if (!placement) {
    Require(placement.error().code == Code::kBadEnvironment &&
                placement.error().message.starts_with("SLURM_STEP_"),
            "\"{}\" names the variable", placement.error().message);
    return;
  }
  std::vector<int> tasks(placement->nodes.size());
  for (const int node : placement->node_of_rank) ++tasks.at(static_cast<size_t>(node));
  if (placement->node_of_rank.empty()) return;
  for (size_t i = 0; i < tasks.size(); ++i) {
    Require(tasks[i] == placement->nodes[i].tasks, "node {} has {} of its {} tasks", i, tasks[i],
            placement->nodes[i].tasks);
  }
}

// Fields in the order of `kNames`, one a line.
void FuzzOne(ByteView input) {
  static constexpr const char* kNames[] = {
      "SLURM_STEP_TASKS_PER_NODE", "SLURM_GTIDS",  "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_TASKS",
      "SLURM_DISTRIBUTION",        "SLURM_NODEID", "SLURMD_NODENAME",     "SLURM_DIST_PLANESIZE"};
  Environment::Variables variables;
  const auto lines = Split(AsText(input), '\n');
  for (size_t i = 0; i < std::min(lines.size(), std::size(kNames)); ++i) {
    if (!lines[i].empty()) variables[kNames[i]] = lines[i];
  }
  CheckCounts(lines[0]);
  if (lines.size() > 1) CheckTaskIds(lines[1]);
  CheckPlacement(Environment::FromVariables(variables));
  const std::string step = SlurmStepOfCommandLine(AsText(input));
  Require(step.size() < std::max<size_t>(input.size(), 1), "a step's name is part of the command line");
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const char* text :
       {"2(x3),1\n0,1\ngpu[01-04]\n7\nblock\n0\ngpu01", "5,1(x2)\n0,3,4,5,6\ngpu[01-03]\n7\ncyclic\n0\ngpu01",
        "4(x2)\n0,1,4,5\nn[1-2]\n8\nplane=2\n0\nn1", "4(x2)\n0,1,4,5\nn[1-2]\n8\nplane\n0\nn1\n2",
        "1\n0\nn1\n1\narbitrary\n0\nn1", "262144(x262145)", "1(x99999999999999999999)",
        "2147483647(x3)\n0\nn[1-3]", "slurmstepd: [13.0]", "slurmstepd: [13.batch]",
        "slurmstepd: [13.interactive] x"}) {
    seeds.push_back(ToBytes(text));
  }
  return seeds;
}

std::vector<std::string> Words() {
  return {"(x", ")",          ",",          "\n",  "plane=", "cyclic", "block", "slurmstepd: [",
          "]",  "gpu[01-04]", "2147483647", "(x3)"};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds, Words}; }

}  // namespace muster::fuzz
