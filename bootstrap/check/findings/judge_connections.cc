#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bootstrap/check/findings/judge.h"
#include "bootstrap/check/findings/slow_nodes.h"
#include "bootstrap/check/findings/units.h"

namespace muster::check {
namespace {

constexpr size_t kMostOneByOne = 10;
// The credentials of MUNGE are valid for 300 s; make, logs and file systems are upset much sooner.
constexpr int64_t kSkewNs = 2'000'000'000;

struct Pair {
  std::string forward;   // why the first cannot reach the second; empty: it can
  std::string backward;  // the opposite direction
};
using Pairs = std::map<std::pair<int, int>, Pair>;

Pairs BrokenPairs(const Evidence& evidence) {
  Pairs pairs;
  for (const std::vector<NodeLinks>* looked : {&evidence.links, &evidence.again}) {
    for (size_t i = 0; i < looked->size(); ++i) {
      const int node = static_cast<int>(i);
      for (const LinkTrouble& trouble : (*looked)[i].troubles) {
        Pair& pair = pairs[std::minmax(node, trouble.node)];
        (node < trouble.node ? pair.forward : pair.backward) = trouble.reason;
      }
    }
  }
  return pairs;
}

const std::string& NameOf(const Evidence& evidence, int node) {
  return evidence.roster.nodes[static_cast<size_t>(node)].name;
}

std::string WhyBroken(const Evidence& evidence, int first, int second, const Pair& pair) {
  const std::string& a = NameOf(evidence, first);
  const std::string& b = NameOf(evidence, second);
  if (pair.backward.empty())
    return fmt::format("{} cannot reach {}: {}; the other way works", a, b, pair.forward);
  if (pair.forward.empty())
    return fmt::format("{} cannot reach {}: {}; the other way works", b, a, pair.backward);
  return fmt::format("{} and {} cannot reach each other: from {}: {}; from {}: {}", a, b, a, pair.forward, b,
                     pair.backward);
}

// Nodes without a connection to more than half of the nodes; one line reports all their pairs.
std::vector<int> CutOff(const Evidence& evidence, const Pairs& pairs) {
  const size_t nodes = evidence.roster.nodes.size();
  if (nodes < 3) return {};
  std::vector<size_t> broken(nodes);
  for (const auto& [pair, why] : pairs) {
    ++broken[static_cast<size_t>(pair.first)];
    ++broken[static_cast<size_t>(pair.second)];
  }
  std::vector<int> cut_off;
  for (size_t node = 0; node < nodes; ++node) {
    if (broken[node] * 2 > nodes - 1) cut_off.push_back(static_cast<int>(node));
  }
  // If most nodes are cut off, no single node is the cause.
  if (cut_off.size() * 2 > nodes) cut_off.clear();
  return cut_off;
}

bool Holds(const std::vector<int>& nodes, int node) { return std::ranges::find(nodes, node) != nodes.end(); }

void AddCutOff(const Evidence& evidence, const Pairs& pairs, int node, Verdict& verdict) {
  size_t count = 0;
  std::string example;
  for (const auto& [pair, why] : pairs) {
    if (pair.first != node && pair.second != node) continue;
    if (++count == 1) example = WhyBroken(evidence, pair.first, pair.second, why);
  }
  const std::string& name = NameOf(evidence, node);
  verdict.failures.push_back(
      {"node_unreachable",
       fmt::format("{} and {} of {} other nodes cannot reach each other; one of them: {}", name, count,
                   evidence.roster.nodes.size() - 1, example),
       "check its network card, routes and firewall, or leave it out",
       {name}});
  verdict.exclude.push_back(name);
}

constexpr const char* kPairHint =
    "check routes and firewalls between the two; rendezvous.interface chooses another network";

}  // namespace

void JudgeConnections(const Evidence& evidence, Verdict& verdict) {
  const Pairs pairs = BrokenPairs(evidence);
  const std::vector<int> cut_off = CutOff(evidence, pairs);
  for (const int node : cut_off) AddCutOff(evidence, pairs, node, verdict);
  size_t shown = 0;
  size_t more = 0;
  for (const auto& [pair, why] : pairs) {
    const auto [a, b] = pair;
    if (Holds(cut_off, a) || Holds(cut_off, b)) continue;
    if (shown == kMostOneByOne) {
      ++more;
      continue;
    }
    ++shown;
    verdict.failures.push_back({"pair_unreachable",
                                WhyBroken(evidence, a, b, why),
                                kPairHint,
                                {NameOf(evidence, a), NameOf(evidence, b)}});
  }
  if (more > 0) {
    verdict.failures.push_back(
        {"pair_unreachable", fmt::format("and {} more pairs of nodes", more), kPairHint, {}});
  }
}

void JudgeSpeed(const Evidence& evidence, Verdict& verdict) {
  // Slow in both measurements, or not slow. The figures shown are those of the second.
  const std::vector<SlowNode> first = FindSlowNodes(evidence.links);
  for (const SlowNode& slow : FindSlowNodes(evidence.again)) {
    if (std::ranges::find(first, slow.node, &SlowNode::node) == first.end()) continue;
    const std::string& name = NameOf(evidence, slow.node);
    verdict.warnings.push_back({"slow_node",
                                fmt::format("{} is slow: {}", name, slow.why),
                                "every collective waits for it: leave it out",
                                {name}});
    verdict.exclude.push_back(name);
  }
  for (size_t node = 0; node < evidence.links.size(); ++node) {
    const NodeLinks& links = evidence.links[node];
    if (links.measured == 0 || std::llabs(links.median.clock_ahead_ns) <= kSkewNs) continue;
    const bool ahead = links.median.clock_ahead_ns > 0;
    const std::string& name = NameOf(evidence, static_cast<int>(node));
    verdict.warnings.push_back(
        {"clock_skew",
         fmt::format("the clock of {} is {} {} the other clocks", name,
                     ShowNanoseconds(std::llabs(links.median.clock_ahead_ns)), ahead ? "ahead of" : "behind"),
         "check that NTP runs there: MUNGE refuses an offset above 300 s",
         {name}});
  }
}

}  // namespace muster::check
