#include "comm/rendezvous/liveness/exchange_tracker.h"

#include <algorithm>

#include "comm/base/parse.h"

namespace muster::rendezvous {
namespace {

// Without the part that distinguishes the programs of a rank.
std::string_view ShortName(std::string_view exchange) { return exchange.substr(exchange.rfind('/') + 1); }

}  // namespace

std::optional<KeyedAllGather> ExchangeTracker::Contribute(const KeyedAllGather& part) {
  if (complete_.contains(part.name)) return std::nullopt;
  auto& entries = exchanges_[part.name];
  for (const auto& [rank, bytes] : part.entries) {
    if (rank >= 0 && rank < roster_.size()) entries.emplace(rank, bytes);
  }
  if (part.name.starts_with(kAmongSupervisors)) {
    for (const int rank : lost_) entries.emplace(rank, Bytes{});
  }
  if (static_cast<int>(entries.size()) < roster_.size()) return std::nullopt;
  KeyedAllGather whole{part.name, 0, {}};
  for (auto& [rank, bytes] : entries) whole.entries.emplace_back(rank, std::move(bytes));
  exchanges_.erase(part.name);
  complete_.insert(part.name);
  return whole;
}

std::vector<KeyedAllGather> ExchangeTracker::Lose(const std::vector<int>& ranks) {
  lost_.insert(ranks.begin(), ranks.end());
  std::vector<std::string> under_way;
  for (const auto& [name, entries] : exchanges_) under_way.push_back(name);
  std::vector<KeyedAllGather> complete;
  for (const std::string& name : under_way) {
    if (auto whole = Contribute({name, 0, {}})) complete.push_back(*std::move(whole));
  }
  return complete;
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
                              ShortName(exchange), FormatDuration(waited), DescribeRanks(roster_, missing))},
                 missing.front()};
}

std::optional<Failure> ExchangeTracker::FindHopeless(const std::set<int>& left) const {
  for (const auto& [name, entries] : exchanges_) {
    for (const int rank : left) {
      if (entries.contains(rank)) continue;
      return Failure{{Code::kPeerLost,
                      fmt::format("{} ended before it took part in \"{}\"", DescribeRank(roster_, rank),
                                  ShortName(name)),
                      "check that its program calls muster::Init and does not end early"},
                     rank};
    }
  }
  return std::nullopt;
}

}  // namespace muster::rendezvous
