#include "comm/map/ledger.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace muster::map {
namespace {

// Shares a batch is of: half of what is left, divided among the ranks.
constexpr uint64_t kBatchesLeft = 2;
constexpr Duration kLongestItem = std::chrono::hours(24 * 365);
constexpr double kUsually = 0.95;
// Results that tell how long the items of a class take.
constexpr uint64_t kEnoughResults = 5;

size_t BucketOf(Duration took) {
  const auto ns = static_cast<uint64_t>(std::max<Duration::rep>(took.count(), 1));
  const auto octave = static_cast<size_t>(std::bit_width(ns) - 1);
  const uint64_t quarter = octave < 2 ? 0 : (ns >> (octave - 2)) & 3;
  return octave * 4 + quarter;
}

// The longest time of the bucket.
Duration EndOf(size_t bucket) {
  const uint64_t octave = bucket / 4;
  const uint64_t start = uint64_t{1} << octave;
  const uint64_t end = start + start / 4 * (bucket % 4 + 1);
  return Duration(static_cast<Duration::rep>(std::min<uint64_t>(end, Duration::max().count())));
}

}  // namespace

void Durations::Add(Duration took) {
  ++buckets_[BucketOf(took)];
  ++count_;
}

Duration Durations::Quantile(double share) const {
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen > 0 && static_cast<double>(seen) >= share * static_cast<double>(count_)) return EndOf(bucket);
  }
  return {};
}

Ledger::Ledger(uint64_t items, int retries) : retries_(std::min(retries, kMostRetries)), states_(items) {
  progress_.items = items;
  by_class_.front().pending = items;
}

void Ledger::Set(uint64_t item, State state) {
  uint64_t& pending = by_class_[ClassOf(item)].pending;
  if (StateOf(item) == State::kPending) --pending;
  if (state == State::kPending) ++pending;
  states_[item] = static_cast<uint8_t>((states_[item] & ~3U) | static_cast<uint8_t>(state));
}

void Ledger::CountAttempt(uint64_t item) {
  if (AttemptsOf(item) <= static_cast<uint32_t>(kMostRetries))
    states_[item] = static_cast<uint8_t>(states_[item] + (1U << kAttemptShift));
}

void Ledger::Resume(uint64_t item, bool poisoned) {
  if (item >= states_.size() || StateOf(item) != State::kPending) return;
  Set(item, poisoned ? State::kPoisoned : State::kCommitted);
  ++(poisoned ? progress_.poisoned : progress_.committed);
  ++progress_.resumed;
}

void Ledger::Classify(uint64_t first, std::span<const uint8_t> classes) {
  if (first > states_.size() || classes.size() > states_.size() - first) return;
  if (classes_.empty()) {
    classes_.resize(states_.size());
    by_class_.front().durations = {};  // of any class
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    const uint64_t item = first + i;
    const uint8_t its = std::min<uint8_t>(classes[i], kMostClasses - 1);
    if (its >= by_class_.size()) by_class_.resize(its + size_t{1}, {by_class_.front().closed, 0, {}});
    if (StateOf(item) == State::kPending) {
      --by_class_[ClassOf(item)].pending;
      ++by_class_[its].pending;
    }
    classes_[item] = its;
  }
}

void Ledger::Join(int rank, int slots) { workers_[rank].slots = std::max(slots, 1); }

void Ledger::Want(int rank) {
  if (const auto worker = workers_.find(rank); worker != workers_.end() && !worker->second.stopped)
    worker->second.wants = true;
}

void Ledger::Stop(int rank) {
  if (const auto worker = workers_.find(rank); worker != workers_.end()) {
    worker->second.stopped = true;
    worker->second.wants = false;
  }
}

void Ledger::Return(uint64_t item) {
  Set(item, State::kPending);
  --progress_.granted;
  if (!by_class_[ClassOf(item)].closed) returned_.insert(item);
}

// A try has ended badly. True: it was the last one.
bool Ledger::Poison(uint64_t item) {
  if (AttemptsOf(item) <= static_cast<uint32_t>(retries_)) {
    Return(item);
    return false;
  }
  Set(item, State::kPoisoned);
  --progress_.granted;
  ++progress_.poisoned;
  failed_at_.erase(item);
  return true;
}

Ledger::Lost Ledger::Lose(int rank) {
  const auto found = workers_.find(rank);
  if (found == workers_.end()) return {};
  Lost lost;
  for (const auto& [order, lease] : found->second.items) {
    const uint64_t item = lease.item;
    if (StateOf(item) != State::kGranted) continue;
    if (order < found->second.next_to_begin) {
      CountAttempt(item);
      failed_at_[item] = rank;
      if (Poison(item)) {
        lost.poisoned.push_back({item, AttemptsOf(item)});
        continue;
      }
    } else {
      Return(item);
    }
    ++lost.returned;
  }
  RankShare share = ShareOf(rank, found->second);
  share.granted = share.at_work = 0;
  gone_[rank] = share;
  workers_.erase(found);
  return lost;
}

uint64_t Ledger::Share(int rank) {
  const auto found = workers_.find(rank);
  if (found == workers_.end()) return 0;
  Worker& worker = found->second;
  uint64_t shared = 0;
  for (const auto& [order, lease] : worker.items) {
    if (StateOf(lease.item) != State::kGranted) continue;
    Return(lease.item);
    ++shared;
  }
  worker.items.clear();
  worker.order.clear();
  worker.at_work = 0;
  worker.silent = true;
  return shared;
}

void Ledger::Hear(int rank) {
  if (const auto worker = workers_.find(rank); worker != workers_.end()) worker->second.silent = false;
}

// A rank works on as many of its items as it has slots.
void Ledger::BeginNext(Worker& worker, Clock::time_point now) {
  auto next = worker.items.lower_bound(worker.next_to_begin);
  for (; next != worker.items.end() && worker.at_work < worker.slots; ++next, ++worker.at_work) {
    next->second.begun = now;
    worker.next_to_begin = next->first + 1;
  }
}

// Whether it was this rank's.
bool Ledger::Remove(Worker& worker, uint64_t item, Clock::time_point now) {
  const auto order = worker.order.find(item);
  if (order == worker.order.end()) return false;
  if (order->second < worker.next_to_begin) --worker.at_work;
  worker.items.erase(order->second);
  worker.order.erase(order);
  BeginNext(worker, now);
  return true;
}

Ledger::Verdict Ledger::Commit(int rank, uint64_t item, Duration took, Clock::time_point now) {
  if (item >= states_.size()) return Verdict::kIgnored;
  if (const auto worker = workers_.find(rank); worker != workers_.end()) {
    Remove(worker->second, item, now);
    ++worker->second.done;
    worker->second.busy += std::clamp<Duration>(took, {}, kLongestItem);
  }
  const State state = StateOf(item);
  if (state == State::kCommitted || state == State::kPoisoned) {
    ++progress_.second_commits;
    return Verdict::kIgnored;
  }
  // A rank that was thought to be gone: the item waits for another, or another is at work on it.
  if (state == State::kPending) {
    returned_.erase(item);
  } else {
    --progress_.granted;
  }
  CountAttempt(item);
  Set(item, State::kCommitted);
  ++progress_.committed;
  failed_at_.erase(item);
  durations_.Add(took);
  by_class_[ClassOf(item)].durations.Add(took);
  longest_ = std::max(longest_, EndOf(BucketOf(took)));
  return Verdict::kTaken;
}

Ledger::Verdict Ledger::Fail(int rank, uint64_t item, Duration took, Clock::time_point now) {
  const auto worker = workers_.find(rank);
  if (item >= states_.size() || worker == workers_.end() || !Remove(worker->second, item, now) ||
      StateOf(item) != State::kGranted)
    return Verdict::kIgnored;
  ++worker->second.failed_attempts;
  worker->second.failing += std::clamp<Duration>(took, {}, kLongestItem);
  CountAttempt(item);
  failed_at_[item] = rank;
  return Poison(item) ? Verdict::kPoisoned : Verdict::kAgain;
}

void Ledger::GiveBack(int rank, const std::vector<uint64_t>& items, Clock::time_point now) {
  const auto worker = workers_.find(rank);
  if (worker == workers_.end()) return;
  for (const uint64_t item : items) {
    if (item < states_.size() && Remove(worker->second, item, now) && StateOf(item) == State::kGranted)
      Return(item);
  }
}

uint64_t Ledger::Grantable() const {
  uint64_t grantable = 0;
  for (const Class& one : by_class_) grantable += one.closed ? 0 : one.pending;
  return grantable;
}

bool Ledger::closed() const { return std::ranges::all_of(by_class_, &Class::closed); }

void Ledger::Close() {
  for (Class& one : by_class_) one.closed = true;
}

bool Ledger::Limit(Duration left) {
  if (left > longest_) return false;
  const Duration usually = durations_.Quantile(kUsually);
  bool further = false;
  for (Class& one : by_class_) {
    Duration its = one.durations.Quantile(kUsually);
    if (one.durations.count() < kEnoughResults) its = std::max(its, usually);
    if (one.closed || left > its) continue;
    one.closed = further = true;
  }
  if (!further) return false;
  std::erase_if(returned_, [this](uint64_t item) { return by_class_[ClassOf(item)].closed; });
  recall_ = true;
  return true;
}

uint64_t Ledger::BatchFor(const Worker& worker) const {
  const auto slots = static_cast<uint64_t>(worker.slots);
  uint64_t active = 0;
  for (const auto& [rank, other] : workers_) {
    if (!other.stopped) active += static_cast<uint64_t>(other.slots);
  }
  const uint64_t guided = Grantable() * slots / (kBatchesLeft * std::max<uint64_t>(active, 1));
  uint64_t in_time = slots;
  if (worker.done > 0) {
    const auto mean =
        std::max<Duration::rep>(worker.busy.count() / static_cast<Duration::rep>(worker.done), 1);
    in_time = slots * static_cast<uint64_t>(std::max<Duration::rep>(kBatchTime.count() / mean, 1));
  }
  return std::clamp<uint64_t>(std::min(guided, in_time), slots, std::max(kLongestBatch, slots));
}

bool Ledger::OthersWork(int rank) const {
  return std::ranges::any_of(workers_, [rank](const auto& entry) {
    return entry.first != rank && !entry.second.stopped && !entry.second.silent;
  });
}

uint64_t Ledger::TakeReturned(std::set<uint64_t>::iterator place) {
  const uint64_t item = *place;
  returned_.erase(place);
  return item;
}

// What failed on this rank is for another one, if there is one.
std::optional<uint64_t> Ledger::TakePending(int rank) {
  constexpr int kMostLooks = 64;
  auto item = returned_.begin();
  for (int looks = 0; item != returned_.end() && looks < kMostLooks; ++item, ++looks) {
    const auto failed = failed_at_.find(*item);
    if (failed == failed_at_.end() || failed->second != rank) return TakeReturned(item);
  }
  const auto is_taken = [this](uint64_t one) {
    return StateOf(one) != State::kPending || by_class_[ClassOf(one)].closed;
  };
  while (fresh_ < states_.size() && is_taken(fresh_)) ++fresh_;
  if (fresh_ < states_.size()) return fresh_++;
  if (returned_.empty() || OthersWork(rank)) return std::nullopt;
  return TakeReturned(returned_.begin());
}

std::vector<Ledger::Grant> Ledger::TakeGrants(Clock::time_point now) {
  std::vector<Grant> grants;
  for (auto& [rank, worker] : workers_) {
    if (Grantable() == 0) break;
    if (!worker.wants || worker.silent) continue;
    Grant grant{rank, {}};
    for (uint64_t left = BatchFor(worker); left > 0; --left) {
      const auto item = TakePending(rank);
      if (!item) break;
      Set(*item, State::kGranted);
      ++progress_.granted;
      worker.order[*item] = worker.next_order;
      worker.items[worker.next_order++] = {*item, now};
      grant.items.push_back({*item, AttemptsOf(*item) + 1});
    }
    // Only what has failed here is left.
    if (grant.items.empty()) continue;
    BeginNext(worker, now);
    worker.wants = false;
    worker.asked = {};
    grants.push_back(std::move(grant));
  }
  return grants;
}

std::vector<int> Ledger::TakeRecalls(Clock::time_point now, Duration again) {
  std::vector<int> asked;
  if (std::exchange(recall_, false)) {
    again = {};
  } else if (!closed()) {
    if (Grantable() > 0) return asked;
    const bool waits = std::ranges::any_of(workers_, [](const auto& entry) { return entry.second.wants; });
    if (!waits) return asked;
  }
  for (auto& [rank, worker] : workers_) {
    if (worker.items.empty() || now - worker.asked < again) continue;
    worker.asked = now;
    asked.push_back(rank);
  }
  return asked;
}

std::vector<std::pair<int, uint64_t>> Ledger::FindOverdue(Clock::time_point now, Duration limit) const {
  std::vector<std::pair<int, uint64_t>> overdue;
  for (const auto& [rank, worker] : workers_) {
    if (worker.items.empty()) continue;
    const Lease& first = worker.items.begin()->second;
    if (now - first.begun > limit) overdue.emplace_back(rank, first.item);
  }
  return overdue;
}

bool Ledger::IsOver() const { return progress_.granted == 0 && Grantable() == 0; }

bool Ledger::AllStopped() const {
  return progress_.granted == 0 &&
         std::ranges::all_of(workers_, [](const auto& entry) { return entry.second.stopped; });
}

std::vector<uint64_t> Ledger::ItemsOf(int rank) const {
  std::vector<uint64_t> items;
  if (const auto worker = workers_.find(rank); worker != workers_.end()) {
    for (const auto& [order, lease] : worker->second.items) items.push_back(lease.item);
  }
  return items;
}

// Without the items that are at work now.
RankShare Ledger::ShareOf(int rank, const Worker& worker) const {
  const auto before = gone_.find(rank);
  RankShare share = before == gone_.end() ? RankShare{} : before->second;
  share.rank = rank;
  share.slots = worker.slots;
  share.done += worker.done;
  share.failed_attempts += worker.failed_attempts;
  share.granted = static_cast<uint32_t>(worker.items.size());
  share.at_work = static_cast<uint32_t>(worker.at_work);
  share.busy += worker.busy + worker.failing;
  return share;
}

std::vector<RankShare> Ledger::Shares(Clock::time_point now) const {
  std::map<int, RankShare> shares = gone_;
  for (const auto& [rank, worker] : workers_) {
    RankShare& share = shares[rank] = ShareOf(rank, worker);
    for (const auto& [order, lease] : worker.items) {
      if (order >= worker.next_to_begin) break;
      share.busy += now - lease.begun;
    }
  }
  std::vector<RankShare> all;
  for (const auto& [rank, share] : shares) all.push_back(share);
  return all;
}

LongestItems Ledger::LongestAtWork(Clock::time_point now) const {
  LongestItems longest;
  for (const auto& [rank, worker] : workers_) {
    for (const auto& [order, lease] : worker.items) {
      if (order >= worker.next_to_begin) break;
      if (StateOf(lease.item) != State::kGranted) continue;
      longest.Add({lease.item, "", rank, now - lease.begun});
    }
  }
  return longest;
}

}  // namespace muster::map
