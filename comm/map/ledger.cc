#include "comm/map/ledger.h"

#include <algorithm>
#include <utility>

namespace muster::map {
namespace {

// Shares a batch is of: half of what is left, divided among the ranks.
constexpr uint64_t kBatchesLeft = 2;
constexpr Duration kLongestItem = std::chrono::hours(24 * 365);
constexpr double kUsually = 0.95;
// Results that tell how long the items of a class take.
constexpr uint64_t kEnoughResults = 5;

}  // namespace

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

void Ledger::Resume(uint64_t item, bool poisoned, uint8_t took) {
  if (item >= states_.size() || StateOf(item) != State::kPending) return;
  Set(item, poisoned ? State::kPoisoned : State::kCommitted);
  ++(poisoned ? progress_.poisoned : progress_.committed);
  ++progress_.resumed;
  if (poisoned) return;
  if (took_.empty()) took_.resize(states_.size());
  took_[item] = took;
  durations_.Add(LongTime(took));
  by_class_[ClassOf(item)].durations.Add(LongTime(took));
  longest_ = std::max(longest_, LongTime(took));
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
    if (its >= by_class_.size()) by_class_.resize(its + size_t{1}, {by_class_.front().closed, 0, 0, {}});
    if (!took_.empty() && took_[item] != 0) by_class_[its].durations.Add(LongTime(took_[item]));
    if (StateOf(item) == State::kPending) {
      --by_class_[ClassOf(item)].pending;
      ++by_class_[its].pending;
    }
    classes_[item] = its;
    by_class_[its].fresh = std::min(by_class_[its].fresh, item);
  }
}

void Ledger::Join(int rank, int slots) {
  Worker& worker = workers_[rank];
  if (worker.slots == 0) ++going_;
  if (!worker.stopped) going_slots_ -= static_cast<uint64_t>(worker.slots);
  worker.slots = std::max(slots, 1);
  if (!worker.stopped) going_slots_ += static_cast<uint64_t>(worker.slots);
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
  --going_;
  going_slots_ -= static_cast<uint64_t>(worker->second.slots);
  File(rank, worker->second);
}

// After a change of what it has or wants.
void Ledger::File(int rank, const Worker& worker) {
  idle_.erase(rank);
  ahead_.erase(rank);
  if (!worker.wants || worker.silent) return;
  if (worker.free() > 0) {
    idle_.insert(rank);
  } else if (!classes_.empty() || (worker.done > 0 && worker.Mean() <= kBatchTime * worker.slots)) {
    ahead_.insert(rank);
  }
}

void Ledger::Forget(int rank) {
  idle_.erase(rank);
  ahead_.erase(rank);
  unasked_.erase(rank);
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
  if (!found->second.stopped) {
    --going_;
    going_slots_ -= static_cast<uint64_t>(found->second.slots);
  }
  Forget(rank);
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
  Forget(rank);
  return shared;
}

void Ledger::Hear(int rank) {
  const auto worker = workers_.find(rank);
  if (worker == workers_.end() || !std::exchange(worker->second.silent, false)) return;
  File(rank, worker->second);
}

bool Ledger::IsSilent(int rank) const {
  const auto worker = workers_.find(rank);
  return worker != workers_.end() && worker->second.silent;
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
bool Ledger::Remove(int rank, uint64_t item, Clock::time_point now) {
  Worker& worker = workers_.at(rank);
  const auto order = worker.order.find(item);
  if (order == worker.order.end()) return false;
  if (order->second < worker.next_to_begin) --worker.at_work;
  worker.items.erase(order->second);
  worker.order.erase(order);
  BeginNext(worker, now);
  File(rank, worker);
  return true;
}

Ledger::Verdict Ledger::Commit(int rank, uint64_t item, Duration took, Clock::time_point now) {
  if (item >= states_.size()) return Verdict::kIgnored;
  if (const auto worker = workers_.find(rank); worker != workers_.end()) {
    Remove(rank, item, now);
    ++worker->second.done;
    worker->second.busy += std::clamp<Duration>(took, {}, kLongestItem);
    File(rank, worker->second);
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
  longest_ = std::max(longest_, took);
  return Verdict::kTaken;
}

Ledger::Verdict Ledger::Fail(int rank, uint64_t item, Duration took, Clock::time_point now) {
  const auto worker = workers_.find(rank);
  if (item >= states_.size() || worker == workers_.end() || !Remove(rank, item, now) ||
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
    if (item < states_.size() && Remove(rank, item, now) && StateOf(item) == State::kGranted) Return(item);
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
    if (one.durations.count() == 0) {
      its = usually;
    } else if (one.durations.count() < kEnoughResults) {
      its = 2 * one.durations.Quantile(1);
    }
    if (one.closed || left > its) continue;
    one.closed = further = true;
  }
  if (!further) return false;
  std::erase_if(returned_, [this](uint64_t item) { return by_class_[ClassOf(item)].closed; });
  recall_ = true;
  return true;
}

// A share of what is left.
uint64_t Ledger::MostFor(const Worker& worker) const {
  const auto slots = static_cast<uint64_t>(worker.slots);
  const uint64_t guided = Grantable() * slots / (kBatchesLeft * std::max<uint64_t>(going_slots_, 1));
  return std::clamp<uint64_t>(guided, slots, std::max(kLongestBatch, slots));
}

// How long the next item will take, as those of its class or of this rank did; zero: not known.
Duration Ledger::ExpectNext(const Worker& worker) {
  if (!classes_.empty()) {
    const Class* const its = returned_.empty() ? NextClass() : &by_class_[ClassOf(*returned_.begin())];
    if (its == nullptr || its->durations.count() == 0) return {};
    return std::max(its->durations.Mean(), Duration(1));
  }
  return worker.done > 0 ? std::max(worker.Mean(), Duration(1)) : Duration::zero();
}

// The open one with the longest items, of those with items that were never granted; before these one that nothing is
// known of. Null: there is none.
Ledger::Class* Ledger::NextClass() {
  Class* next = nullptr;
  for (Class& one : by_class_) {
    if (one.closed || one.pending == 0 || one.fresh == states_.size()) continue;
    if (one.durations.count() == 0) return &one;
    if (next == nullptr || one.durations.Mean() > next->durations.Mean()) next = &one;
  }
  return next;
}

std::optional<uint64_t> Ledger::TakeFresh() {
  while (Class* const from = NextClass()) {
    const auto number = static_cast<uint8_t>(from - by_class_.data());
    while (from->fresh < states_.size()) {
      const uint64_t item = from->fresh++;
      if (StateOf(item) != State::kPending || ClassOf(item) != number) continue;
      returned_.erase(item);  // granted before its class was known
      return item;
    }
  }
  return std::nullopt;
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
  if (const auto fresh = TakeFresh()) return fresh;
  const bool others_work = std::ranges::any_of(workers_, [rank](const auto& entry) {
    return entry.first != rank && !entry.second.stopped && !entry.second.silent;
  });
  if (returned_.empty() || others_work) return std::nullopt;
  return TakeReturned(returned_.begin());
}

Ledger::Grant Ledger::TakeGrant(int rank, Worker& worker, Clock::time_point now) {
  Grant grant{rank, {}};
  Duration planned{};
  const uint64_t most = MostFor(worker);
  const uint64_t free = worker.free();
  while (grant.items.size() < most) {
    const Duration takes = ExpectNext(worker);
    planned += takes;
    const bool waits = grant.items.size() >= free;
    if (waits && (takes == Duration::zero() || planned > kBatchTime * worker.slots)) break;
    const auto item = TakePending(rank);
    if (!item) break;
    Set(*item, State::kGranted);
    ++progress_.granted;
    worker.order[*item] = worker.next_order;
    worker.items[worker.next_order++] = {*item, now};
    grant.items.push_back({*item, AttemptsOf(*item) + 1});
  }
  return grant;
}

// Free slots first.
std::vector<Ledger::Grant> Ledger::TakeGrants(Clock::time_point now) {
  std::vector<Grant> grants;
  for (const std::set<int>* waiting : {&idle_, &ahead_}) {
    for (auto next = waiting->begin(); next != waiting->end() && Grantable() > 0;) {
      const int rank = *next++;
      Worker& worker = workers_.at(rank);
      Grant grant = TakeGrant(rank, worker, now);
      if (grant.items.empty()) {
        // Only what has failed here is left; or what would wait here, and then for the next rank as well.
        if (waiting == &ahead_) break;
        continue;
      }
      BeginNext(worker, now);
      worker.wants = false;
      worker.asked = {};
      unasked_.insert(rank);
      File(rank, worker);
      grants.push_back(std::move(grant));
    }
  }
  return grants;
}

std::vector<int> Ledger::TakeRecalls(Clock::time_point now, Duration again) {
  std::vector<int> asked;
  if (std::exchange(recall_, false)) {
    for (const auto& [rank, worker] : workers_) unasked_.insert(rank);
  } else if (!closed() && (Grantable() > 0 || idle_.empty())) {
    return asked;
  }
  for (; !asked_.empty() && now - asked_.front().first >= again; asked_.pop_front()) {
    const auto [when, rank] = asked_.front();
    const auto worker = workers_.find(rank);
    if (worker != workers_.end() && worker->second.asked == when) unasked_.insert(rank);
  }
  for (const int rank : std::exchange(unasked_, {})) {
    Worker& worker = workers_.at(rank);
    if (worker.items.empty()) continue;
    worker.asked = now;
    asked_.emplace_back(now, rank);
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
