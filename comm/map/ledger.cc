#include "comm/map/ledger.h"

#include <algorithm>
#include <utility>

namespace muster::map {
namespace {

// Divisor of a batch: half of the remaining items, divided among the ranks.
constexpr uint64_t kBatchesLeft = 2;
constexpr Duration kLongestItem = std::chrono::hours(24 * 365);

}  // namespace

void Ledger::Join(RankPlace place, int slots) {
  Worker& worker = workers_[place.rank];
  if (worker.slots() == 0) {
    worker.node = place.node;
    ++going_;
    working_.Add(place.node);
  }
  if (!worker.stopped) going_slots_ -= worker.slots();
  worker.queue.set_slots(std::max(slots, 1));
  if (!worker.stopped) going_slots_ += worker.slots();
}

void Ledger::Want(int rank) {
  const auto worker = workers_.find(rank);
  if (worker == workers_.end() || worker->second.stopped) return;
  worker->second.wants = true;
  File(rank, worker->second);
}

void Ledger::Stop(int rank) {
  const auto worker = workers_.find(rank);
  if (worker == workers_.end() || std::exchange(worker->second.stopped, true)) return;
  worker->second.wants = false;
  if (!worker->second.silent) working_.Remove(worker->second.node);
  --going_;
  going_slots_ -= worker->second.slots();
  File(rank, worker->second);
}

// After a change of the rank's items or wants.
void Ledger::File(int rank, const Worker& worker) {
  idle_.erase(rank);
  ahead_.erase(rank);
  if (!worker.wants || worker.silent) return;
  if (worker.queue.free() > 0) {
    idle_.insert(rank);
  } else if (items_.classified() || (worker.done > 0 && worker.Mean() <= kBatchTime * worker.queue.slots())) {
    ahead_.insert(rank);
  }
}

void Ledger::Forget(int rank) {
  idle_.erase(rank);
  ahead_.erase(rank);
  unasked_.erase(rank);
}

// Returns those that are still granted, and their number.
uint64_t Ledger::ReturnAll(const std::vector<uint64_t>& items) {
  uint64_t returned = 0;
  for (const uint64_t item : items) {
    if (!items_.IsGranted(item)) continue;
    items_.Return(item);
    ++returned;
  }
  return returned;
}

Ledger::Lost Ledger::Lose(int rank) {
  const auto found = workers_.find(rank);
  if (found == workers_.end()) return {};
  Lost lost;
  for (const RankQueue::Lease& lease : found->second.queue.AtWork()) {
    if (!items_.IsGranted(lease.item)) continue;
    // The end of a rank is no failure of its node: any other rank may continue.
    if (items_.Fail(lease.item, {rank, kNoNode})) {
      lost.poisoned.push_back({lease.item, items_.AttemptsOf(lease.item)});
    } else {
      ++lost.returned;
    }
  }
  lost.returned += ReturnAll(found->second.queue.Waiting());
  RankShare share = ShareOf(rank, found->second);
  share.granted = share.at_work = 0;
  gone_[rank] = share;
  if (!found->second.stopped) {
    if (!found->second.silent) working_.Remove(found->second.node);
    --going_;
    going_slots_ -= found->second.slots();
  }
  Forget(rank);
  workers_.erase(found);
  return lost;
}

uint64_t Ledger::Share(int rank) {
  const auto found = workers_.find(rank);
  if (found == workers_.end()) return 0;
  Worker& worker = found->second;
  const uint64_t shared = ReturnAll(worker.queue.Items());
  worker.queue.Clear();
  if (!std::exchange(worker.silent, true) && !worker.stopped) working_.Remove(worker.node);
  Forget(rank);
  return shared;
}

void Ledger::Touch(int rank) {
  const auto worker = workers_.find(rank);
  if (worker == workers_.end() || !std::exchange(worker->second.silent, false)) return;
  if (!worker->second.stopped) working_.Add(worker->second.node);
  File(rank, worker->second);
}

void Ledger::Postpone(Duration stall) {
  for (auto& [rank, worker] : workers_) worker.queue.Postpone(stall);
}

bool Ledger::IsSilent(int rank) const {
  const auto worker = workers_.find(rank);
  return worker != workers_.end() && worker->second.silent;
}

// True if it was this rank's.
bool Ledger::Remove(int rank, uint64_t item, Clock::time_point now) {
  Worker& worker = workers_.at(rank);
  if (!worker.queue.Remove(item, now)) return false;
  File(rank, worker);
  return true;
}

Ledger::Verdict Ledger::Commit(int rank, uint64_t item, Duration took, Clock::time_point now) {
  if (!items_.Has(item)) return Verdict::kIgnored;
  if (const auto worker = workers_.find(rank); worker != workers_.end()) {
    Remove(rank, item, now);
    ++worker->second.done;
    worker->second.busy += std::clamp<Duration>(took, {}, kLongestItem);
    File(rank, worker->second);
  }
  return items_.Commit(item, took) ? Verdict::kTaken : Verdict::kIgnored;
}

Ledger::Verdict Ledger::Fail(int rank, uint64_t item, Duration took, Clock::time_point now) {
  const auto worker = workers_.find(rank);
  if (!items_.Has(item) || worker == workers_.end() || !Remove(rank, item, now) || !items_.IsGranted(item))
    return Verdict::kIgnored;
  ++worker->second.failed_attempts;
  worker->second.failing += std::clamp<Duration>(took, {}, kLongestItem);
  return items_.Fail(item, {rank, worker->second.node}) ? Verdict::kPoisoned : Verdict::kAgain;
}

void Ledger::GiveBack(int rank, const std::vector<uint64_t>& items, Clock::time_point now) {
  const auto worker = workers_.find(rank);
  if (worker == workers_.end()) return;
  for (const uint64_t item : items) {
    if (Remove(rank, item, now) && items_.IsGranted(item)) items_.Return(item);
  }
}

bool Ledger::Limit(Duration left) {
  if (!items_.Limit(left)) return false;
  recall_ = true;
  return true;
}

// A share of the remaining items.
uint64_t Ledger::MostFor(const Worker& worker) const {
  const uint64_t slots = worker.slots();
  const uint64_t guided = items_.Grantable() * slots / (kBatchesLeft * std::max<uint64_t>(going_slots_, 1));
  return std::clamp<uint64_t>(guided, slots, std::max(kLongestBatch, slots));
}

// Expected duration of the next item, from those of its class or of this rank; zero: not known.
Duration Ledger::ExpectNext(const Worker& worker) const {
  if (items_.classified()) return items_.ExpectNext();
  return worker.done > 0 ? std::max(worker.Mean(), Duration(1)) : Duration::zero();
}

// An item that failed on this rank is for another rank, if there is one.
std::optional<GrantedItem> Ledger::TakeItem(int rank, const Worker& worker) {
  if (auto item = items_.Take({rank, worker.node}, working_)) return item;
  if (!items_.HasReturned() || working_.ranks() > 1) return std::nullopt;
  return items_.TakeReturned();
}

Ledger::Grant Ledger::TakeGrant(int rank, Worker& worker, Clock::time_point now) {
  Grant grant{rank, {}};
  Duration planned{};
  const uint64_t most = MostFor(worker);
  const uint64_t free = worker.queue.free();
  while (grant.items.size() < most) {
    const Duration takes = ExpectNext(worker);
    planned += takes;
    const bool waits = grant.items.size() >= free;
    if (waits && (takes == Duration::zero() || planned > kBatchTime * worker.queue.slots())) break;
    const auto item = TakeItem(rank, worker);
    if (!item) break;
    worker.queue.Add(item->index, now);
    grant.items.push_back(*item);
  }
  return grant;
}

// Free slots first.
std::vector<Ledger::Grant> Ledger::TakeGrants(Clock::time_point now) {
  std::vector<Grant> grants;
  for (const std::set<int>* waiting : {&idle_, &ahead_}) {
    for (auto next = waiting->begin(); next != waiting->end() && items_.Grantable() > 0;) {
      const int rank = *next++;
      Worker& worker = workers_.at(rank);
      Grant grant = TakeGrant(rank, worker, now);
      if (grant.items.empty()) {
        // The remaining items failed here, or would wait here and equally at the next rank.
        if (waiting == &ahead_) break;
        continue;
      }
      worker.queue.BeginNext(now);
      worker.wants = false;
      worker.asked = {};
      unasked_.insert(rank);
      File(rank, worker);
      grants.push_back(std::move(grant));
    }
  }
  unsuited_ = !idle_.empty() && items_.Grantable() > 0;
  return grants;
}

std::vector<int> Ledger::TakeRecalls(Clock::time_point now, Duration again) {
  std::vector<int> asked;
  if (std::exchange(recall_, false)) {
    for (const auto& [rank, worker] : workers_) unasked_.insert(rank);
  } else if (!items_.closed() && !unsuited_ && (items_.Grantable() > 0 || idle_.empty())) {
    return asked;
  }
  for (; !asked_.empty() && now - asked_.front().first >= again; asked_.pop_front()) {
    const auto [when, rank] = asked_.front();
    const auto worker = workers_.find(rank);
    if (worker != workers_.end() && worker->second.asked == when) unasked_.insert(rank);
  }
  for (const int rank : std::exchange(unasked_, {})) {
    Worker& worker = workers_.at(rank);
    if (worker.queue.empty()) continue;
    worker.asked = now;
    asked_.emplace_back(now, rank);
    asked.push_back(rank);
  }
  return asked;
}

std::vector<std::pair<int, uint64_t>> Ledger::FindOverdue(Clock::time_point now, Duration limit) const {
  std::vector<std::pair<int, uint64_t>> overdue;
  for (const auto& [rank, worker] : workers_) {
    if (worker.queue.empty()) continue;
    const RankQueue::Lease& first = worker.queue.first();
    if (now - first.begun > limit) overdue.emplace_back(rank, first.item);
  }
  return overdue;
}

// Without the items that are at work now.
RankShare Ledger::ShareOf(int rank, const Worker& worker) const {
  const auto before = gone_.find(rank);
  RankShare share = before == gone_.end() ? RankShare{} : before->second;
  share.rank = rank;
  share.slots = worker.queue.slots();
  share.done += worker.done;
  share.failed_attempts += worker.failed_attempts;
  share.granted = static_cast<uint32_t>(worker.queue.size());
  share.at_work = static_cast<uint32_t>(worker.queue.at_work());
  share.busy += worker.busy + worker.failing;
  return share;
}

std::vector<RankShare> Ledger::Shares(Clock::time_point now) const {
  std::map<int, RankShare> shares = gone_;
  for (const auto& [rank, worker] : workers_) {
    RankShare& share = shares[rank] = ShareOf(rank, worker);
    for (const RankQueue::Lease& lease : worker.queue.AtWork()) share.busy += now - lease.begun;
  }
  std::vector<RankShare> all;
  for (const auto& [rank, share] : shares) all.push_back(share);
  return all;
}

LongestItems Ledger::LongestAtWork(Clock::time_point now) const {
  LongestItems longest;
  for (const auto& [rank, worker] : workers_) {
    for (const RankQueue::Lease& lease : worker.queue.AtWork()) {
      if (!items_.IsGranted(lease.item)) continue;
      longest.Add({lease.item, "", rank, now - lease.begun});
    }
  }
  return longest;
}

}  // namespace muster::map
