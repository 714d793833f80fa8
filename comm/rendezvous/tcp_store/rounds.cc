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
  const bool all_have_met = entering.round < latest_ || met_;
  if (entering.connections == 0 && all_have_met && ++entering.round > latest_) {
    latest_ = entering.round;
    present_ = 0;
    met_ = false;
  }
  if (entering.connections++ == 0 && entering.round == latest_) ++present_;
  met_ = met_ || present_ == ranks_.size();
  return entering.round;
}

void Rounds::Leave(int rank) {
  if (!Has(rank)) return;
  Rank& leaving = ranks_[static_cast<size_t>(rank)];
  if (--leaving.connections == 0 && leaving.round == latest_) --present_;
}

}  // namespace muster::tcp_store
