// The exchanges in progress of a formed group, which its root collects. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

class ExchangeTracker {
 public:
  // `roster` must outlive this.
  explicit ExchangeTracker(const Roster& roster) : roster_(roster) {}
  explicit ExchangeTracker(Roster&&) = delete;

  // The complete exchange if this was its last contribution. Ignores duplicates and contributions of no rank.
  std::optional<KeyedAllGather> Contribute(const KeyedAllGather& part);
  // They have ended with their process while a map was at work. Exchanges among supervisors that are complete without them.
  std::vector<KeyedAllGather> Lose(const std::vector<int>& ranks);
  bool IsUnderWay(const std::string& exchange) const { return exchanges_.contains(exchange); }
  // The next contribution is the first of a new exchange.
  bool IsUnknown(const std::string& exchange) const {
    return !exchanges_.contains(exchange) && !complete_.contains(exchange);
  }
  // The failure for every rank when an exchange is incomplete in time; absent if it is complete.
  std::optional<Failure> GiveUp(const std::string& exchange, Duration waited) const;

  // The failure for every rank when an exchange under way waits for one of `left`; absent otherwise.
  std::optional<Failure> FindHopeless(const std::set<int>& left) const;

 private:
  const Roster& roster_;
  std::map<std::string, std::map<int, Bytes>> exchanges_;  // under way
  std::set<std::string> complete_;                         // so that a late copy starts nothing
  std::set<int> lost_;
};

}  // namespace muster::rendezvous
