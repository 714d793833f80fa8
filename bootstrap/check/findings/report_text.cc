#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "bootstrap/check/findings/report.h"
#include "bootstrap/check/findings/units.h"
#include "comm/base/lists.h"
#include "comm/base/parse.h"

namespace muster::check {
namespace {

constexpr size_t kMostNodesOneByOne = 16;

std::string NodeNames(const Evidence& evidence) {
  std::vector<std::string> names;
  for (const Roster::Node& node : evidence.roster.nodes) names.push_back(node.name);
  return FormatNodes(names);
}

void AddLine(std::string& out, std::string_view what, std::string_view state, const std::string& text) {
  out += fmt::format("  {:<12} {:<8} {}\n", what, state, text);
}

std::string PerNode(const Roster& roster) {
  int least = roster.size();
  int most = 0;
  for (int node = 0; node < static_cast<int>(roster.nodes.size()); ++node) {
    least = std::min(least, roster.LocalSize(node));
    most = std::max(most, roster.LocalSize(node));
  }
  return least == most ? fmt::format("{} on each", least) : fmt::format("{} to {} on each", least, most);
}

void AddGroup(std::string& out, const Evidence& evidence) {
  const Roster& roster = evidence.roster;
  if (roster.size() == 1) return AddLine(out, "group", "ok", "a world of one: there is no other rank");
  std::string text = fmt::format("{} ranks", roster.size());
  if (roster.nodes.size() > 1) text += fmt::format(", {}", PerNode(roster));
  AddLine(out, "group", "ok", text + fmt::format("; formed in {}", FormatSeconds(evidence.formed_in)));
}

size_t Failures(const Verdict& verdict, std::string_view suffix) {
  return static_cast<size_t>(std::ranges::count_if(
      verdict.failures, [&](const Finding& finding) { return finding.code.ends_with(suffix); }));
}

// The least, the median and the largest, with the nodes that have them.
void AddFigure(std::string& out, const Evidence& evidence, std::string_view what,
               const std::function<int64_t(const socket::LinkFigures&)>& of,
               const std::function<std::string(int64_t)>& show) {
  std::vector<std::pair<int64_t, std::string>> values;
  const std::vector<NodeLinks>& links = LinksToShow(evidence);
  for (size_t node = 0; node < links.size(); ++node) {
    if (links[node].measured > 0)
      values.emplace_back(of(links[node].median), evidence.roster.nodes[node].name);
  }
  if (values.empty()) return;
  std::ranges::sort(values);
  const auto at = [&](size_t index) { return values[index].first; };
  const int64_t median = (at((values.size() - 1) / 2) + at(values.size() / 2)) / 2;
  AddLine(out, what, "",
          fmt::format("least {} ({}), median {}, most {} ({})", show(values.front().first),
                      values.front().second, show(median), show(values.back().first), values.back().second));
}

void AddLinks(std::string& out, const Evidence& evidence, const Verdict& verdict) {
  const size_t nodes = evidence.roster.nodes.size();
  if (nodes < 2) return;
  const bool fine = Failures(verdict, "_unreachable") == 0;
  const size_t pairs = nodes * (nodes - 1) / 2;
  const std::string which =
      pairs == 1 ? "the one pair" : fmt::format("{} {} pairs", fine ? "all" : "not all of", pairs);
  AddLine(out, "connections", fine ? "ok" : "FAILED", which + " of nodes, both ways");
  AddFigure(
      out, evidence, "round trip", [](const socket::LinkFigures& f) { return f.round_trip_ns; },
      ShowNanoseconds);
  if (!evidence.bandwidth) return;
  const auto rate = [](int64_t value) { return ShowRate(static_cast<uint64_t>(value)); };
  AddFigure(
      out, evidence, "out",
      [](const socket::LinkFigures& f) { return static_cast<int64_t>(f.out_bytes_per_s); }, rate);
  AddFigure(
      out, evidence, "in",
      [](const socket::LinkFigures& f) { return static_cast<int64_t>(f.in_bytes_per_s); }, rate);
}

void AddCollectives(std::string& out, const Evidence& evidence) {
  const auto size = static_cast<long long>(evidence.roster.size());
  if (evidence.trials.empty())
    return AddLine(out, "collectives", "not run", "they need all nodes to reach each other");
  if (evidence.broken) return AddLine(out, "collectives", "FAILED", "they broke down");
  if (!evidence.wrong.empty()) {
    return AddLine(out, "collectives", "FAILED", fmt::format("{} wrong results", evidence.wrong.size()));
  }
  AddLine(out, "collectives", "ok",
          fmt::format("the sum of all ranks is {}; all {} trials give the right result",
                      size * (size - 1) / 2, evidence.trials.size()));
}

// "4096" or "1024 to 4096".
template <typename Values>
std::string Range(const Values& values, const std::function<std::string(uint64_t)>& show) {
  const auto [least, most] = std::ranges::minmax(values);
  return least == most ? show(least) : fmt::format("{} to {}", show(least), show(most));
}

void AddNodes(std::string& out, const Evidence& evidence) {
  std::vector<uint64_t> files;
  std::vector<uint64_t> locked;
  for (const RankFacts& rank : evidence.ranks) {
    files.push_back(rank.open_files);
    locked.push_back(rank.locked_memory);
  }
  std::vector<uint64_t> shm;
  std::vector<uint64_t> gpus;
  for (const NodeFacts& node : evidence.nodes) {
    shm.push_back(node.shm_free);
    gpus.push_back(node.gpus);
  }
  AddLine(out, "limits", "",
          fmt::format("open files {}; locked memory {}; free in /dev/shm {}", Range(files, ShowCount),
                      Range(locked, ShowBytes), Range(shm, ShowBytes)));
  const NodeFacts& first = evidence.nodes.front();
  std::string text = fmt::format("muster {}, Linux {}, glibc {}", first.muster, first.kernel, first.libc);
  if (!first.interface.empty()) text += fmt::format("; {} with MTU {}", first.interface, first.mtu);
  AddLine(out, "first node", "", text + fmt::format("; GPUs on a node: {}", Range(gpus, ShowCount)));
}

std::string DescribeGpu(const NodeFacts& facts) {
  std::string text = facts.gpu_problem.empty() ? facts.gpu : facts.gpu_problem;
  if (!facts.driver.empty()) text += fmt::format(", driver for CUDA {}", facts.driver);
  if (!facts.cuda.empty()) text += fmt::format(", CUDA {}", facts.cuda);
  if (!facts.nccl.empty()) text += fmt::format(", NCCL {}", facts.nccl);
  return text;
}

// Nothing if no rank had a reason to search for GPUs.
void AddGpus(std::string& out, const Evidence& evidence) {
  std::map<std::string, std::vector<std::string>> nodes;
  for (size_t i = 0; i < evidence.nodes.size(); ++i) {
    const std::string text = DescribeGpu(evidence.nodes[i]);
    if (!text.empty()) nodes[text].push_back(evidence.roster.nodes[i].name);
  }
  for (const auto& [text, names] : nodes) {
    const bool all = names.size() == evidence.nodes.size();
    AddLine(out, "GPUs", evidence.nodes.front().nccl.empty() ? "" : "ok",
            all ? text : fmt::format("{}: {}", FormatNodes(names), text));
  }
}

// The facts that the checks of all GPUs share.
void AddGpuChecks(std::string& out, const Evidence& evidence, const Verdict& verdict) {
  if (evidence.gpus.empty()) return;
  if (const size_t failed = Failures(verdict, "gpu_failed") + Failures(verdict, "gpu_memory_taken") +
                            Failures(verdict, "gpu_wrong_result");
      failed > 0) {
    return AddLine(out, "GPU checks", "FAILED", fmt::format("{} of {} GPUs", failed, evidence.gpus.size()));
  }
  std::string text = "memory and a matrix product give the right result";
  const auto add = [&](std::string_view what, uint64_t GpuFacts::*field, std::string (*show)(uint64_t)) {
    std::vector<uint64_t> values;
    for (const GpuFacts& gpu : evidence.gpus) values.push_back(gpu.*field);
    if (std::ranges::min(values) > 0) text += fmt::format("; {} {}", what, Range(values, show));
  };
  add("write", &GpuFacts::write_bytes_per_s, ShowRate);
  add("read", &GpuFacts::read_bytes_per_s, ShowRate);
  add("product", &GpuFacts::product_flops, ShowFlops);
  const bool counted =
      std::ranges::all_of(evidence.gpus, [](const GpuFacts& gpu) { return gpu.errors_problem.empty(); });
  AddLine(out, "GPU checks", "ok", text + (counted ? "" : "; memory errors are not known on all"));
}

// The precision of a clock offset is half a round trip.
std::string ShowClock(int64_t ahead_ns) {
  constexpr int64_t kFine = 1'000'000;
  if (ahead_ns > -kFine && ahead_ns < kFine) return "<1 ms";
  return (ahead_ns > 0 ? "+" : "") + ShowNanoseconds(ahead_ns);
}

std::set<std::string> NamedNodes(const Verdict& verdict) {
  std::set<std::string> named;
  for (const std::vector<Finding>* findings : {&verdict.failures, &verdict.warnings}) {
    // The finding itself names further nodes.
    for (const Finding& finding : *findings) {
      if (finding.nodes.size() <= 2) named.insert(finding.nodes.begin(), finding.nodes.end());
    }
  }
  return named;
}

void AddNodeTable(std::string& out, const Evidence& evidence, const Verdict& verdict) {
  const std::vector<NodeLinks>& links = LinksToShow(evidence);
  if (links.empty()) return;
  const std::set<std::string> named = NamedNodes(verdict);
  size_t width = 4;
  for (const Roster::Node& node : evidence.roster.nodes) width = std::max(width, node.name.size());
  std::string lines;
  for (size_t i = 0; i < links.size(); ++i) {
    const std::string& name = evidence.roster.nodes[i].name;
    if (links.size() > kMostNodesOneByOne && !named.contains(name)) continue;
    std::vector<int> ranks = evidence.roster.RanksOn(static_cast<int>(i));
    std::ranges::sort(ranks);
    const socket::LinkFigures& median = links[i].median;
    const bool measured = links[i].measured > 0;
    const auto or_none = [](bool there, const std::string& text) { return there ? text : std::string("-"); };
    lines += fmt::format("  {:<{}}  {:<10}  {:>10}  {:>9}  {:>9}  {:>9}\n", name, width, FormatRanges(ranks),
                         or_none(measured, ShowNanoseconds(median.round_trip_ns)),
                         or_none(median.out_bytes_per_s > 0, ShowRate(median.out_bytes_per_s)),
                         or_none(median.in_bytes_per_s > 0, ShowRate(median.in_bytes_per_s)),
                         or_none(measured, ShowClock(median.clock_ahead_ns)));
  }
  if (lines.empty()) return;
  out += fmt::format("\n  {:<{}}  {:<10}  {:>10}  {:>9}  {:>9}  {:>9}\n{}", "node", width, "ranks",
                     "round trip", "out", "in", "clock", lines);
}

void AddFindings(std::string& out, std::string_view kind, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    out += fmt::format("\n{}: {}\n", kind, finding.message);
    if (!finding.hint.empty()) out += fmt::format("  {}\n", finding.hint);
  }
}

}  // namespace

const std::vector<NodeLinks>& LinksToShow(const Evidence& evidence) {
  return evidence.again.empty() ? evidence.links : evidence.again;
}

std::string CheckText(const Evidence& evidence, const Verdict& verdict) {
  std::string out =
      fmt::format("muster check: {} on {}, {}\n\n", Counted(evidence.roster.size(), "rank"),
                  NodeNames(evidence), evidence.launcher == "none" ? "no launcher" : evidence.job);
  AddGroup(out, evidence);
  AddLinks(out, evidence, verdict);
  AddCollectives(out, evidence);
  AddNodes(out, evidence);
  AddGpus(out, evidence);
  AddGpuChecks(out, evidence, verdict);
  AddNodeTable(out, evidence, verdict);
  AddFindings(out, "FAILED", verdict.failures);
  AddFindings(out, "warning", verdict.warnings);
  if (!verdict.exclude.empty()) out += fmt::format("\n--exclude={}\n", FormatNodes(verdict.exclude));
  out +=
      fmt::format("\n{} in {}", verdict.failures.empty() ? "passed" : "failed", FormatSeconds(evidence.took));
  if (!verdict.failures.empty())
    out += fmt::format(": {}", Counted(static_cast<int>(verdict.failures.size()), "failure"));
  if (!verdict.warnings.empty()) {
    out += fmt::format("{} {}", verdict.failures.empty() ? " with" : ",",
                       Counted(static_cast<int>(verdict.warnings.size()), "warning"));
  }
  return out + "\n";
}

}  // namespace muster::check
