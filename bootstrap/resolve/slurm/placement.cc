#include "bootstrap/resolve/slurm/placement.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "bootstrap/resolve/slurm/hostlist.h"
#include "bootstrap/resolve/slurm/slurm_variables.h"
#include "bootstrap/resolve/slurm/tasks_per_node.h"
#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

// Beyond this a layout is not worth its memory; the nodes and their counts still are.
constexpr int64_t kMostRanks = 1 << 22;

enum class Distribution { kBlock, kCyclic, kPlane, kOther };

struct Layout {
  Distribution distribution = Distribution::kBlock;
  int plane = 1;
};

// SLURM_DISTRIBUTION is "cyclic", "block:cyclic", "plane", "plane=2", "block,nopack", ...; absent: Slurm's
// default, which is block (or cyclic with a task a node, the same thing).
Layout ReadLayout(const Environment& environment) {
  std::string_view text = environment.Get("SLURM_DISTRIBUTION").value_or("block");
  const std::string_view base = text.substr(0, text.find_first_of(":,="));
  if (base == "block" || base == "*") return {Distribution::kBlock, 1};
  if (base == "cyclic") return {Distribution::kCyclic, 1};
  if (base != "plane") return {Distribution::kOther, 1};
  const size_t equals = text.find('=');
  const std::string_view size = equals == std::string_view::npos
                                    ? environment.Get("SLURM_DIST_PLANESIZE").value_or("")
                                    : text.substr(equals + 1);
  const auto plane = ParseInteger<int>(size);
  if (!plane || *plane < 1) return {Distribution::kOther, 1};
  return {Distribution::kPlane, *plane};
}

std::vector<int> PlaceBlock(const std::vector<int>& counts) {
  std::vector<int> node_of_rank;
  for (size_t node = 0; node < counts.size(); ++node) {
    node_of_rank.insert(node_of_rank.end(), static_cast<size_t>(counts[node]), static_cast<int>(node));
  }
  return node_of_rank;
}

// Rounds over the nodes, `plane` ranks a turn, full nodes passed over (src/common/slurm_step_layout.c:
// _task_layout_plane; cyclic is a plane of one).
std::vector<int> PlaceInTurns(std::vector<int> left, int plane) {
  std::vector<int> node_of_rank;
  std::vector<int> open(left.size());
  std::iota(open.begin(), open.end(), 0);
  while (!open.empty()) {
    for (const int node : open) {
      int& tasks = left[static_cast<size_t>(node)];
      const int turn = std::min(tasks, plane);
      node_of_rank.insert(node_of_rank.end(), static_cast<size_t>(turn), node);
      tasks -= turn;
    }
    std::erase_if(open, [&](int node) { return left[static_cast<size_t>(node)] == 0; });
  }
  return node_of_rank;
}

// The result must have this process on its own node, else the layout is another one.
bool AgreesWithThisTask(const Environment& environment, const Placement& placement) {
  const auto node = environment.GetCount("SLURM_NODEID");
  const auto task_ids = ParseTaskIds(environment.Get("SLURM_GTIDS").value_or(""));
  if (!node || !*node || !task_ids || static_cast<size_t>(**node) >= placement.nodes.size()) return false;
  const auto name = environment.Get("SLURMD_NODENAME");
  if (name && !name->empty() && *name != placement.nodes[static_cast<size_t>(**node)].name) return false;
  std::vector<int> here;
  for (size_t rank = 0; rank < placement.node_of_rank.size(); ++rank) {
    if (placement.node_of_rank[rank] == **node) here.push_back(static_cast<int>(rank));
  }
  return here == *task_ids;
}

std::vector<int> NodeOfRank(const Environment& environment, const std::vector<int>& counts) {
  if (IsHeterogeneous(environment)) return {};
  const Layout layout = ReadLayout(environment);
  if (layout.distribution == Distribution::kOther) return {};
  return layout.distribution == Distribution::kBlock ? PlaceBlock(counts)
                                                     : PlaceInTurns(counts, layout.plane);
}

Result<Placement> NodesOf(std::string_view variable, std::string_view text) {
  const auto names = ExpandHostlist(text);
  if (!names) return Fail(Code::kBadEnvironment, "{}: {}", variable, names.error().message);
  std::vector<Placement::Node> nodes;
  nodes.reserve(names->size());
  for (const std::string& name : *names) nodes.push_back({name, 0});
  return Placement{std::move(nodes), {}};
}

bool ContainsNodesOf(const Placement& all, const Placement& some) {
  std::set<std::string_view> names;
  for (const Placement::Node& node : all.nodes) names.insert(node.name);
  return std::all_of(some.nodes.begin(), some.nodes.end(),
                     [&](const Placement::Node& node) { return names.count(node.name) != 0; });
}

}  // namespace

Result<Placement> PlacementOfSlurmStep(const Environment& environment) {
  const auto nodelist = environment.Get("SLURM_STEP_NODELIST");
  if (!nodelist) return Fail(Code::kBadEnvironment, "SLURM_STEP_NODELIST is not set");
  MUSTER_TRY(Placement placement, NodesOf("SLURM_STEP_NODELIST", *nodelist));
  const auto per_node = environment.Get("SLURM_STEP_TASKS_PER_NODE");
  const auto tasks = environment.GetCount("SLURM_STEP_NUM_TASKS");
  if (!per_node || !tasks || !*tasks) return placement;
  const auto counts = ParseTasksPerNode(*per_node);
  if (!counts) return Fail(Code::kBadEnvironment, "SLURM_STEP_TASKS_PER_NODE: {}", counts.error().message);
  if (counts->size() != placement.nodes.size() || SumOf(*counts) != **tasks) return placement;
  for (size_t i = 0; i < counts->size(); ++i) placement.nodes.own()[i].tasks = (*counts)[i];
  if (**tasks > kMostRanks) return placement;
  placement.node_of_rank = NodeOfRank(environment, *counts);
  if (!AgreesWithThisTask(environment, placement)) placement.node_of_rank.clear();
  return placement;
}

Result<Placement> NodesOfSlurmJob(const Environment& environment) {
  const auto nodelist = SlurmJobNodelist(environment);
  if (!nodelist) return Placement{};
  MUSTER_TRY(Placement nodes, NodesOf("SLURM_JOB_NODELIST", *nodelist));
  const auto inherited = environment.Get("SLURM_NODELIST");
  if (!inherited || *inherited == *nodelist) return nodes;
  auto all = NodesOf("SLURM_NODELIST", *inherited);
  if (all && ContainsNodesOf(*all, nodes)) return *std::move(all);
  return nodes;
}

}  // namespace muster::resolve
