#include "comm/rendezvous/liveness/exchange_tracker.h"

#include <algorithm>

#include "comm/base/parse.h"
#include "comm/base/some_ranges.h"

namespace muster::rendezvous {
namespace {

// As in the line of a group that is forming.
constexpr size_t kNodesNamed = 16;

// Without the part that tells one program of a rank from the next.
std::string_view ShortName(std::string_view exchange) { return exchange.substr(exchange.rfind('/') + 1); }

}  // namespace

std::optional<KeyedAllGather> ExchangeTracker::Contribute(const KeyedAllGather& part) {
  if (complete_.contains(part.name)) return std::nullopt;
  auto& entries = exchanges_[part.name];
  for (const auto& [rank, bytes] : part.entries) {
    if (rank >= 0 && rank < roster_.size()) entries.emplace(rank, bytes);
  }
  if (static_cast<int>(entries.size()) < roster_.size()) return std::nullopt;
  KeyedAllGather whole{part.name, 0, {}};
  for (auto& [rank, bytes] : entries) whole.entries.emplace_back(rank, std::move(bytes));
  exchanges_.erase(part.name);
  complete_.insert(part.name);
  return whole;
}

std::optional<Failure> ExchangeTracker::GiveUp(const std::string& exchange, Duration waited) const {
  const auto found = exchanges_.find(exchange);
  if (found == exchanges_.end()) return std::nullopt;
  std::vector<int> missing;
  for (int rank = 0; rank < roster_.size(); ++rank) {
    if (!found->second.contains(rank)) missing.push_back(rank);
  }
  return Failure{{Code::kDeadline,
                  fmt::format("the exchange \"{}\" was not complete after {}: {} did not take part",
                              ShortName(exchange), FormatDuration(waited), DescribeRanks(roster_, missing)),
                  ""},
                 missing.front(),
                 -1,
                 ""};
}

std::optional<Failure> ExchangeTracker::FindHopeless(const std::set<int>& left) const {
  for (const auto& [name, entries] : exchanges_) {
    for (const int rank : left) {
      if (entries.contains(rank)) continue;
      return Failure{{Code::kPeerLost,
                      fmt::format("{} ended before it took part in \"{}\"", DescribeRank(roster_, rank),
                                  ShortName(name)),
                      "its program may never have called muster::Init, or have left early"},
                     rank,
                     -1,
                     ""};
    }
  }
  return std::nullopt;
}

std::string DescribeRanks(const Roster& roster, const std::vector<int>& ranks) {
  std::vector<std::vector<int>> by_node(roster.nodes.size());
  for (const int rank : ranks) {
    if (rank >= 0 && rank < roster.size()) by_node[static_cast<size_t>(roster.NodeOf(rank))].push_back(rank);
  }
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  const char* separator = " ";
  size_t named = 0;
  size_t other_nodes = 0;
  size_t other_ranks = 0;
  for (size_t node = 0; node < by_node.size(); ++node) {
    if (by_node[node].empty()) continue;
    if (named++ >= kNodesNamed) {
      ++other_nodes;
      other_ranks += by_node[node].size();
      continue;
    }
    std::ranges::sort(by_node[node]);
    text += fmt::format("{}{} on {}", separator, FormatSomeRanges(by_node[node]), roster.nodes[node].name);
    separator = ", ";
  }
  if (other_nodes > 0) text += fmt::format(" and {} on {} nodes more", CountRanks(other_ranks), other_nodes);
  return text;
}

}  // namespace muster::rendezvous
