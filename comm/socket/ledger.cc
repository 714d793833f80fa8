#include "comm/socket/ledger.h"

#include <utility>

namespace muster {

std::optional<Mismatch> Ledger::Begin(const Call& call) {
  const std::lock_guard lock(mutex_);
  sequence_ = call.sequence;
  active_.store(true, std::memory_order_relaxed);
  history_[call.sequence % kRemembered] = call;
  std::optional<Mismatch> found;
  for (auto entry = early_.begin(); entry != early_.end();) {
    if (entry->second.sequence > sequence_) {
      ++entry;
      continue;
    }
    if (entry->second.sequence == sequence_ && entry->second != call && !found) {
      found = Mismatch{entry->first, entry->second, call};
    }
    entry = early_.erase(entry);
  }
  return found;
}

void Ledger::Waiting(std::vector<int> world_ranks) {
  const std::lock_guard lock(mutex_);
  waiting_ = !world_ranks.empty();
  waiting_for_ = std::move(world_ranks);
}

void Ledger::End() {
  active_.store(false, std::memory_order_release);
  if (!waiting_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  waiting_ = false;
  waiting_for_.clear();
}

Answer Ledger::Ask(int from, const Call& theirs, std::optional<Mismatch>& mismatch) {
  const std::lock_guard lock(mutex_);
  if (theirs.sequence > sequence_) {
    early_[from] = theirs;
    return {};
  }
  const Call& mine = Past(theirs.sequence);
  if (mine.sequence != theirs.sequence) return {};  // too long ago to know
  if (mine != theirs) {
    mismatch = Mismatch{from, theirs, mine};
    return {Standing::kDisagrees, {}};
  }
  if (!active_ || theirs.sequence != sequence_) return {};
  return {Standing::kSame, waiting_for_};
}

}  // namespace muster
