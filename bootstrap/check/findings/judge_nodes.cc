#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "bootstrap/check/findings/judge.h"
#include "bootstrap/check/findings/units.h"
#include "comm/base/lists.h"
#include "comm/base/parse.h"

namespace muster::check {
namespace {

constexpr uint64_t kFewestOpenFiles = 1024;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kSmallShm = 64 * kMiB;
constexpr uint64_t kShmForRank = 16 * kMiB;

std::vector<std::string> Names(const Evidence& evidence, const std::vector<int>& nodes) {
  std::vector<std::string> names;
  for (const int node : nodes) names.push_back(evidence.roster.nodes[static_cast<size_t>(node)].name);
  return names;
}

// Descriptors that a rank may need: a connection with every other one for collectives and for Send and Recv,
// and some.
uint64_t OpenFilesFor(int world_size) {
  return std::max<uint64_t>(kFewestOpenFiles, 2 * static_cast<uint64_t>(world_size) + 128);
}

// By node the smallest value of its ranks.
std::vector<uint64_t> LeastByNode(const Evidence& evidence, uint64_t RankFacts::*field) {
  std::vector<uint64_t> least(evidence.roster.nodes.size(), kUnlimited);
  for (size_t rank = 0; rank < evidence.ranks.size(); ++rank) {
    uint64_t& of_node = least[static_cast<size_t>(evidence.roster.NodeOf(static_cast<int>(rank)))];
    of_node = std::min(of_node, evidence.ranks[rank].*field);
  }
  return least;
}

// One warning for all nodes that it concerns; `say` gets their smallest value.
void WarnBelow(const Evidence& evidence, const std::vector<uint64_t>& values,
               const std::function<bool(size_t)>& is_bad, Finding finding,
               const std::function<std::string(const std::string&, uint64_t)>& say, Verdict& verdict) {
  std::vector<int> bad;
  uint64_t least = kUnlimited;
  for (size_t node = 0; node < values.size(); ++node) {
    if (!is_bad(node)) continue;
    bad.push_back(static_cast<int>(node));
    least = std::min(least, values[node]);
  }
  if (bad.empty()) return;
  finding.nodes = Names(evidence, bad);
  finding.message = say(FormatNodes(finding.nodes), least);
  verdict.warnings.push_back(std::move(finding));
}

std::string Shown(const std::string& value) { return value.empty() ? "none" : value; }
std::string Shown(uint32_t value) { return std::to_string(value); }

// Says who differs from the most frequent value.
template <typename Value>
void WarnOfDifference(const Evidence& evidence, const std::string& code, const std::string& what,
                      const std::string& hint, Value NodeFacts::*value_of, Verdict& verdict) {
  std::map<std::string, std::vector<int>> nodes_with;
  for (size_t node = 0; node < evidence.nodes.size(); ++node) {
    nodes_with[Shown(evidence.nodes[node].*value_of)].push_back(static_cast<int>(node));
  }
  if (nodes_with.size() < 2) return;
  const auto most = std::ranges::max_element(
      nodes_with, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<std::string> parts;
  std::vector<int> odd;
  for (const auto& [value, nodes] : nodes_with) {
    parts.push_back(fmt::format("{} on {}", value, FormatNodes(Names(evidence, nodes))));
    if (value != most->first) odd.insert(odd.end(), nodes.begin(), nodes.end());
  }
  std::ranges::sort(odd);
  verdict.warnings.push_back(
      {code, fmt::format("{} differs: {}", what, fmt::join(parts, "; ")), hint, Names(evidence, odd)});
}

// The GPUs that the ranks of a node can use.
struct NodeDevices {
  std::set<std::string_view> named;
  size_t users = 0;        // ranks with a GPU
  bool all = false;        // a rank without CUDA_VISIBLE_DEVICES
  bool node_wide = false;  // a list without "0", which is the first GPU in every device cgroup

  // Lists that may be those of device cgroups have the same names for different GPUs.
  bool Crowded(size_t gpus) const {
    const size_t visible = node_wide && !all ? named.size() : gpus;
    return visible > 1 && visible < users;
  }
};

}  // namespace

void JudgeLimits(const Evidence& evidence, Verdict& verdict) {
  const std::vector<uint64_t> files = LeastByNode(evidence, &RankFacts::open_files);
  const uint64_t needed = OpenFilesFor(evidence.roster.size());
  WarnBelow(
      evidence, files, [&](size_t node) { return files[node] < needed; },
      {"open_files_low", {}, fmt::format("ulimit -n {} before srun, or LimitNOFILE of slurmd", needed), {}},
      [&](const std::string& names, uint64_t least) {
        return fmt::format("only {} open files (nofile) on {}; a group of {} should have {}", least, names,
                           evidence.roster.size(), needed);
      },
      verdict);

  const std::vector<uint64_t> locked = LeastByNode(evidence, &RankFacts::locked_memory);
  WarnBelow(
      evidence, locked,
      [&](size_t node) {
        return locked[node] != kUnlimited &&
               (evidence.nodes[node].gpus > 0 || evidence.nodes[node].infiniband);
      },
      {"locked_memory_low",
       {},
       "LimitMEMLOCK=infinity for slurmd, and PropagateResourceLimitsExcept=MEMLOCK",
       {}},
      [](const std::string& names, uint64_t least) {
        return fmt::format(
            "locked memory (memlock) is limited to {} on {}: InfiniBand and GPU transfers pin more",
            ShowBytes(least), names);
      },
      verdict);

  std::vector<uint64_t> shm;
  for (const NodeFacts& node : evidence.nodes) shm.push_back(node.shm_free);
  WarnBelow(
      evidence, shm,
      [&](size_t node) {
        const auto ranks = static_cast<uint64_t>(evidence.roster.LocalSize(static_cast<int>(node)));
        return shm[node] < std::max(kSmallShm, ranks * kShmForRank);
      },
      {"shm_small",
       {},
       "remove what is left in /dev/shm; in a container, start it with --shm-size=8g or --ipc=host",
       {}},
      [](const std::string& names, uint64_t least) {
        return fmt::format("only {} free in /dev/shm on {}", ShowBytes(least), names);
      },
      verdict);
}

void JudgeDifferences(const Evidence& evidence, Verdict& verdict) {
  WarnOfDifference(evidence, "muster_differs", "muster's version", "use one muster for all nodes",
                   &NodeFacts::muster, verdict);
  WarnOfDifference(evidence, "kernel_differs", "the kernel", "", &NodeFacts::kernel, verdict);
  WarnOfDifference(evidence, "libc_differs", "glibc", "", &NodeFacts::libc, verdict);
  if (!evidence.interface_set) {
    WarnOfDifference(evidence, "interface_differs", "the network interface",
                     "rendezvous.interface chooses one by name, glob or network", &NodeFacts::interface,
                     verdict);
  }
  WarnOfDifference(evidence, "mtu_differs", "the MTU", "large packets may be lost without an error",
                   &NodeFacts::mtu, verdict);
  WarnOfDifference(evidence, "gpus_differ", "the number of GPUs", "", &NodeFacts::gpus, verdict);
  WarnOfDifference(evidence, "driver_differs", "the GPUs' driver", "", &NodeFacts::driver, verdict);
  WarnOfDifference(evidence, "cuda_differs", "the CUDA runtime", "CUDA_HOME names the one to use",
                   &NodeFacts::cuda, verdict);
}

void JudgeDevices(const Evidence& evidence, Verdict& verdict) {
  std::map<std::pair<int, std::string_view>, std::vector<int>> users;
  std::vector<NodeDevices> nodes(evidence.nodes.size());
  for (int rank = 0; rank < evidence.roster.size(); ++rank) {
    const int node = evidence.roster.NodeOf(rank);
    NodeDevices& of_node = nodes[static_cast<size_t>(node)];
    const auto& visible = evidence.ranks[static_cast<size_t>(rank)].visible_devices;
    const auto devices = DevicesIn(visible ? std::string_view(*visible) : std::string_view());
    if (visible && devices.empty()) continue;
    ++of_node.users;
    of_node.all |= !visible;
    of_node.named.insert(devices.begin(), devices.end());
    const bool has_first = !visible || std::ranges::find(devices, "0") != devices.end();
    of_node.node_wide |= !has_first;
    if (devices.size() == 1 && !has_first) users[{node, devices.front()}].push_back(rank);
  }
  for (const auto& [device, ranks] : users) {
    if (ranks.size() < 2) continue;
    const std::string& name = evidence.roster.nodes[static_cast<size_t>(device.first)].name;
    verdict.warnings.push_back({"device_shared",
                                fmt::format("{} have the same GPU: CUDA_VISIBLE_DEVICES={}",
                                            FormatRanks(ranks, name), device.second),
                                "srun --gpus-per-task=1 gives each rank its own",
                                {name}});
  }
  std::vector<int> crowded;
  for (size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].Crowded(evidence.nodes[node].gpus)) crowded.push_back(static_cast<int>(node));
  }
  if (crowded.empty()) return;
  std::vector<std::string> names = Names(evidence, crowded);
  verdict.warnings.push_back({"device_shared",
                              fmt::format("more ranks than visible GPUs on {}", FormatNodes(names)),
                              "start as many ranks on a node as it has GPUs", std::move(names)});
}

}  // namespace muster::check
