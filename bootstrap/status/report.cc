#include "bootstrap/status/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "bootstrap/report/map_report.h"
#include "comm/base/lists.h"
#include "comm/base/parse.h"
#include "comm/base/printable.h"
#include "comm/rendezvous/survey/stragglers.h"

namespace muster::status {
namespace {

// A shorter wait counts as work.
constexpr Duration kWaitsWorthALine = std::chrono::seconds(1);
constexpr size_t kMostLines = 20;
// Every second rank of 2048 would make a row of 4 kB.
constexpr size_t kRangesInARow = 6;

struct Row {
  std::vector<int> ranks;
  std::string state;
  uint64_t least = 0;
  uint64_t most = 0;
};

// How long the rank has been in its state; 0: unknown.
uint64_t AgeOf(const rendezvous::RankReport& report) {
  if (report.state == rendezvous::RankState::kInGroup && !report.operations.empty()) {
    return report.operations.front().milliseconds;
  }
  return report.process.milliseconds;
}

// One for each state, in the order of the lowest rank.
std::vector<Row> RowsOf(const std::vector<rendezvous::RankReport>& reports) {
  std::vector<Row> rows;
  std::map<std::string, size_t> known;
  for (const rendezvous::RankReport& report : reports) {
    const std::string state = rendezvous::DescribeState(report);
    const auto [entry, fresh] = known.emplace(state, rows.size());
    const uint64_t age = AgeOf(report);
    if (fresh) rows.push_back({{}, state, age, age});
    Row& row = rows[entry->second];
    row.ranks.push_back(report.rank);
    row.least = std::min(row.least, age);
    row.most = std::max(row.most, age);
  }
  return rows;
}

std::string NodesOf(const rendezvous::GroupStatus& status, const std::vector<int>& ranks) {
  std::set<int> nodes;
  for (const int rank : ranks) nodes.insert(status.node_of_rank[static_cast<size_t>(rank)]);
  std::vector<std::string> names;
  for (const int node : nodes) names.push_back(status.nodes[static_cast<size_t>(node)]);
  return FormatNodes(names);
}

std::string AgeText(const Row& row) {
  if (row.most == 0) return "-";
  const std::string least = rendezvous::FormatAge(row.least);
  const std::string most = rendezvous::FormatAge(row.most);
  return least == most ? most : fmt::format("{} to {}", least, most);
}

void AddTable(std::string& out, const rendezvous::GroupStatus& status) {
  std::vector<std::array<std::string, 4>> cells = {{"ranks", "nodes", "state", "for"}};
  const std::vector<Row> rows = RowsOf(status.reports);
  bool cut = false;
  for (size_t i = 0; i < std::min(rows.size(), kMostLines); ++i) {
    const std::string ranks = FormatSomeRanges(rows[i].ranks, kRangesInARow);
    cut = cut || ranks != FormatRanges(rows[i].ranks);
    cells.push_back({ranks, NodesOf(status, rows[i].ranks), rows[i].state, AgeText(rows[i])});
  }
  std::array<size_t, 3> widths{};
  for (const auto& row : cells) {
    for (size_t column = 0; column < widths.size(); ++column) {
      widths.at(column) = std::max(widths.at(column), row.at(column).size());
    }
  }
  out += "\n";
  for (const auto& row : cells) {
    out += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {}\n", row[0], widths[0], row[1], widths[1], row[2],
                       widths[2], row[3]);
  }
  if (rows.size() > kMostLines)
    out += fmt::format("  and {} more states; --json has every rank\n", rows.size() - kMostLines);
  else if (cut)
    out += "  --json has every rank\n";
}

void AddWaits(std::string& out, const rendezvous::GroupStatus& status) {
  const Roster roster = RosterOf(status);
  const std::vector<rendezvous::WaitingCall> calls =
      rendezvous::FindWaitingCalls(status.reports, kWaitsWorthALine);
  if (!calls.empty()) out += "\n";
  for (size_t i = 0; i < std::min(calls.size(), kMostLines); ++i) out += Describe(roster, calls[i]) + "\n";
}

void AddMaps(std::string& out, const rendezvous::GroupStatus& status) {
  const Roster roster = RosterOf(status);
  for (const map::MapState& map : status.maps)
    out += "\n" + report::MapText(map, [&](int rank) { return roster.NodeName(rank); });
}

void AddStacks(std::string& out, const rendezvous::GroupStatus& status) {
  const Roster roster = RosterOf(status);
  for (const rendezvous::RankReport& report : status.reports) {
    if (report.stack.empty()) continue;
    out += fmt::format("\n{}, pid {} ({}, {} of CPU): {}\n", DescribeRank(roster, report.rank),
                       report.process.pid, report.process.state,
                       rendezvous::FormatAge(report.process.cpu_milliseconds),
                       rendezvous::DescribeState(report));
    for (const std::string_view line : Split(Trim(report.stack), '\n')) out += fmt::format("  {}\n", line);
  }
}

}  // namespace

Roster RosterOf(const rendezvous::GroupStatus& status) {
  Roster roster;
  roster.group_id = status.group_id;
  for (const std::string& node : status.nodes) roster.nodes.push_back({node, {}});
  for (const int node : status.node_of_rank) roster.members.push_back({node, 0, 0, {}});
  return roster;
}

std::string StatusText(const rendezvous::GroupStatus& status) {
  const std::string job = status.job.empty() ? "" : ", " + status.job;
  if (!status.forming.empty()) {
    return Printable(fmt::format("muster status{}: the group is still forming: {}\n", job, status.forming),
                     "\n");
  }
  std::string out = fmt::format("muster status: {} ranks on {}{}\n", status.node_of_rank.size(),
                                FormatNodes(status.nodes), job);
  if (!status.failure.empty()) out += fmt::format("\nthe group has failed: {}\n", status.failure);
  if (!status.complete) {
    out += fmt::format("\nthe root, {}, does not answer: only this node was queried\n",
                       DescribeRank(RosterOf(status), status.root_rank));
  }
  AddTable(out, status);
  AddWaits(out, status);
  AddMaps(out, status);
  AddStacks(out, status);
  return Printable(out, "\n\t");
}

void KeepJob(std::vector<rendezvous::GroupStatus>& groups, std::string_view slurm_job) {
  if (slurm_job.empty()) return;
  const std::string key = fmt::format("slurm:{}.", slurm_job);
  const auto is_ours = [&](const rendezvous::GroupStatus& group) {
    return group.job.starts_with(key) || !group.job.starts_with("slurm:");
  };
  if (std::ranges::any_of(groups, is_ours)) {
    std::erase_if(groups, [&](const rendezvous::GroupStatus& group) { return !is_ours(group); });
  }
}

std::vector<int> RanksToLookAt(const rendezvous::GroupStatus& status, size_t most) {
  std::set<int> ranks;
  for (const rendezvous::WaitingCall& call : rendezvous::FindWaitingCalls(status.reports, kWaitsWorthALine)) {
    for (const rendezvous::WaitingCall::Late& late : call.late)
      ranks.insert(late.ranks.begin(), late.ranks.end());
  }
  if (ranks.empty()) {
    for (const rendezvous::RankReport& report : status.reports) {
      const bool ended =
          report.state == rendezvous::RankState::kLeft || report.state == rendezvous::RankState::kEnded;
      const bool busy = !report.operations.empty() && report.operations.front().active;
      if (!ended && !busy) ranks.insert(report.rank);
    }
  }
  std::vector<int> chosen(ranks.begin(), ranks.end());
  if (chosen.size() > most) chosen.resize(most);
  return chosen;
}

}  // namespace muster::status
