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

  // The complete exchange where this was its last contribution. What comes twice or from no rank is ignored.
  std::optional<KeyedAllGather> Contribute(const KeyedAllGather& part);
  // The first contribution of a new exchange: its clock starts now.
  bool IsUnknown(const std::string& exchange) const {
    return !exchanges_.contains(exchange) && !complete_.contains(exchange);
  }
  // What every rank is told when an exchange has not become complete in time; absent where it has.
  std::optional<Failure> GiveUp(const std::string& exchange, Duration waited) const;

  // What every rank is told when an exchange under way waits for one of `left`; absent where none does.
  std::optional<Failure> FindHopeless(const std::set<int>& left) const;

 private:
  const Roster& roster_;
  std::map<std::string, std::map<int, Bytes>> exchanges_;  // under way
  std::set<std::string> complete_;                         // so that a late copy starts nothing
};

}  // namespace muster::rendezvous
