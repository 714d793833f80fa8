#include "comm/map/item_book.h"

#include <algorithm>
#include <utility>

namespace muster::map {
namespace {

constexpr double kUsually = 0.95;
// Number of results from which the duration of a class is known.
constexpr uint64_t kEnoughResults = 5;

}  // namespace

ItemBook::ItemBook(uint64_t items, int retries) : retries_(std::min(retries, kMostRetries)), states_(items) {
  progress_.items = items;
  by_class_.front().pending = items;
}

void ItemBook::Set(uint64_t item, State state) {
  uint64_t& pending = by_class_[ClassOf(item)].pending;
  if (StateOf(item) == State::kPending) --pending;
  if (state == State::kPending) ++pending;
  states_[item] = static_cast<uint8_t>((states_[item] & ~3U) | static_cast<uint8_t>(state));
}

void ItemBook::CountAttempt(uint64_t item) {
  if (AttemptsOf(item) <= static_cast<uint32_t>(kMostRetries))
    states_[item] = static_cast<uint8_t>(states_[item] + (1U << kAttemptShift));
}

void ItemBook::Resume(uint64_t item, bool poisoned, uint8_t took) {
  if (!Has(item) || StateOf(item) != State::kPending) return;
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

void ItemBook::Classify(uint64_t first, std::span<const uint8_t> classes) {
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

GrantedItem ItemBook::Grant(uint64_t item) {
  Set(item, State::kGranted);
  ++progress_.granted;
  return {item, AttemptsOf(item) + 1};
}

void ItemBook::Return(uint64_t item) {
  Set(item, State::kPending);
  --progress_.granted;
  if (!by_class_[ClassOf(item)].closed) returned_.insert(item);
}

bool ItemBook::Fail(uint64_t item, RankPlace place) {
  CountAttempt(item);
  if (AttemptsOf(item) <= static_cast<uint32_t>(retries_)) {
    Failures& failures = failed_at_[item];
    failures.last_rank = place.rank;
    failures.nodes.insert(place.node);
    Return(item);
    return false;
  }
  Set(item, State::kPoisoned);
  --progress_.granted;
  ++progress_.poisoned;
  failed_at_.erase(item);
  return true;
}

bool ItemBook::Commit(uint64_t item, Duration took) {
  const State state = StateOf(item);
  if (state == State::kCommitted || state == State::kPoisoned) {
    ++progress_.second_commits;
    return false;
  }
  // A rank that was taken for ended: the item waits for another, or another is at work on it.
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
  return true;
}

uint64_t ItemBook::Grantable() const {
  uint64_t grantable = 0;
  for (const Class& one : by_class_) grantable += one.closed ? 0 : one.pending;
  return grantable;
}

bool ItemBook::closed() const { return std::ranges::all_of(by_class_, &Class::closed); }

bool ItemBook::Limit(Duration left) {
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
  if (further) std::erase_if(returned_, [this](uint64_t item) { return by_class_[ClassOf(item)].closed; });
  return further;
}

Duration ItemBook::ExpectNext() const {
  const Class* const its = returned_.empty() ? NextClass() : &by_class_[ClassOf(*returned_.begin())];
  if (its == nullptr || its->durations.count() == 0) return {};
  return std::max(its->durations.Mean(), Duration(1));
}

// Among open classes with items that were never granted: the one with the longest items, but first one
// without known durations. Null: there is none.
const ItemBook::Class* ItemBook::NextClass() const {
  const Class* next = nullptr;
  for (const Class& one : by_class_) {
    if (one.closed || one.pending == 0 || one.fresh == states_.size()) continue;
    if (one.durations.count() == 0) return &one;
    if (next == nullptr || one.durations.Mean() > next->durations.Mean()) next = &one;
  }
  return next;
}

std::optional<uint64_t> ItemBook::TakeFresh() {
  while (const Class* const next = NextClass()) {
    const auto number = static_cast<uint8_t>(next - by_class_.data());
    Class& from = by_class_[number];
    while (from.fresh < states_.size()) {
      const uint64_t item = from.fresh++;
      if (StateOf(item) != State::kPending || ClassOf(item) != number) continue;
      returned_.erase(item);  // granted before its class was known
      return item;
    }
  }
  return std::nullopt;
}

uint64_t ItemBook::TakeReturned(std::set<uint64_t>::iterator place) {
  const uint64_t item = *place;
  returned_.erase(place);
  return item;
}

bool ItemBook::Suits(uint64_t item, RankPlace place, const WorkingRanks& working) const {
  const auto found = failed_at_.find(item);
  if (found == failed_at_.end()) return true;
  const Failures& failures = found->second;
  if (failures.last_rank == place.rank) return false;
  if (!failures.nodes.contains(place.node)) return true;
  const auto same = std::ranges::count_if(failures.nodes, [&](int node) { return working.Has(node); });
  return std::cmp_greater_equal(same, working.nodes());
}

std::optional<GrantedItem> ItemBook::Take(RankPlace place, const WorkingRanks& working) {
  constexpr int kMostLooks = 64;
  auto item = returned_.begin();
  for (int looks = 0; item != returned_.end() && looks < kMostLooks; ++item, ++looks) {
    if (Suits(*item, place, working)) return Grant(TakeReturned(item));
  }
  const auto fresh = TakeFresh();
  return fresh ? std::optional(Grant(*fresh)) : std::nullopt;
}

}  // namespace muster::map
