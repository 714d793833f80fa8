#include "comm/rendezvous/tcp_store/rounds.h"

#include <algorithm>

namespace muster::tcp_store {
namespace {

constexpr std::string_view kDefaultGroup = "/default_pg/";
constexpr std::string_view kAttempt = "//worker/attempt_";

}  // namespace

bool IsProcessGroupKey(std::string_view key) {
  if (key.starts_with(kAttempt)) {
    key.remove_prefix(kAttempt.size());
    key.remove_prefix(std::min(key.find('/'), key.size()));
  }
  return key.starts_with(kDefaultGroup);
}

Round Rounds::Of(int rank) const { return Has(rank) ? ranks_[static_cast<size_t>(rank)].round : latest_; }

Round Rounds::Enter(int rank) {
  if (!Has(rank)) return latest_;
  Rank& entering = ranks_[static_cast<size_t>(rank)];
  const bool all_were_here = entering.round < latest_ || in_latest_ == ranks_.size();
  if (!entering.has_come) {
    entering.has_come = true;
    ++in_latest_;
  } else if (entering.connections == 0 && all_were_here) {
    if (++entering.round > latest_) {
      latest_ = entering.round;
      in_latest_ = 0;
    }
    ++in_latest_;
  }
  ++entering.connections;
  return entering.round;
}

void Rounds::Leave(int rank) {
  if (Has(rank)) --ranks_[static_cast<size_t>(rank)].connections;
}

}  // namespace muster::tcp_store
