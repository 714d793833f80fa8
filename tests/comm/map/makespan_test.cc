// How long a map takes: the ledger with ranks that work for simulated time, beside the best time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <queue>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/map/ledger.h"

namespace muster::map {
namespace {

using std::chrono::milliseconds;
using Verdict = Ledger::Verdict;

const Clock::time_point kStart{};

// Ranks that work for simulated time: one item at a time, the next batch is asked for when the last one is
// begun, and items that were not begun are given back at the ledger's request.
class SimulatedRanks {
 public:
  SimulatedRanks(std::vector<Duration> items, int ranks, const std::vector<uint8_t>& classes = {})
      : items_(std::move(items)), ledger_(items_.size(), 2), queues_(static_cast<size_t>(ranks)) {
    if (!classes.empty()) ledger_.Classify(0, classes);
    for (int rank = 0; rank < ranks; ++rank) {
      ledger_.Join({rank, rank}, 1);
      idle_.insert(rank);
      ledger_.Want(rank);
    }
  }

  Duration Makespan() {
    Dispatch();
    while (!working_.empty()) {
      const auto [end, rank, item] = working_.top();
      working_.pop();
      now_ = end;
      EXPECT_EQ(ledger_.Commit(rank, item, items_[item], now_), Verdict::kTaken);
      idle_.insert(rank);
      Begin(rank);
      Dispatch();
    }
    EXPECT_TRUE(ledger_.items().progress().left() == 0);
    return now_ - kStart;
  }

 private:
  void Begin(int rank) {
    auto& queue = queues_[static_cast<size_t>(rank)];
    if (queue.empty()) ledger_.Want(rank);
    if (queue.empty() || idle_.erase(rank) == 0) return;
    working_.emplace(now_ + items_[queue.front()], rank, queue.front());
    queue.erase(queue.begin());
    if (queue.empty()) ledger_.Want(rank);
  }
  void Dispatch() {
    for (const Ledger::Grant& grant : ledger_.TakeGrants(now_)) {
      auto& queue = queues_[static_cast<size_t>(grant.rank)];
      for (const GrantedItem& item : grant.items) queue.push_back(item.index);
      Begin(grant.rank);
    }
    const std::vector<int> asked = ledger_.TakeRecalls(now_, milliseconds(1));
    for (const int rank : asked)
      ledger_.GiveBack(rank, std::exchange(queues_[static_cast<size_t>(rank)], {}), now_);
    if (!asked.empty()) Dispatch();
  }

  struct Later {
    bool operator()(const auto& a, const auto& b) const { return std::get<0>(a) > std::get<0>(b); }
  };
  std::vector<Duration> items_;
  Ledger ledger_;
  std::vector<std::vector<uint64_t>> queues_;
  std::set<int> idle_;
  using End = std::tuple<Clock::time_point, int, uint64_t>;
  std::priority_queue<End, std::vector<End>, Later> working_;
  Clock::time_point now_ = kStart;
};

// Pareto-distributed, from 20 ms; the variance is infinite.
std::vector<Duration> ParetoItems(uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Duration> items;
  for (int i = 0; i < 4000; ++i) {
    const std::chrono::duration<double> time(0.02 / std::sqrt(1 - uniform(random)));
    items.push_back(std::chrono::duration_cast<Duration>(time));
  }
  return items;
}

// A rank takes the next item whenever it is free: the best order if the lengths of items are not known.
Duration GreedyMakespan(const std::vector<Duration>& items, int ranks) {
  std::priority_queue<Duration, std::vector<Duration>, std::greater<>> free;
  for (int rank = 0; rank < ranks; ++rank) free.push(Duration::zero());
  Duration end{};
  for (const Duration item : items) {
    const Duration done = free.top() + item;
    free.pop();
    free.push(done);
    end = std::max(end, done);
  }
  return end;
}

// On average: who begins the longest item late is chance, also for the greedy way.
TEST(Makespan, SixteenRanksNeedLittleMoreThanTheBestTime) {
  constexpr int kTries = 40;
  double to_best = 0;
  double to_greedy = 0;
  for (uint32_t seed = 1; seed <= kTries; ++seed) {
    const std::vector<Duration> items = ParetoItems(seed);
    const Duration total = std::accumulate(items.begin(), items.end(), Duration::zero());
    const Duration best = std::max(total / 16, *std::ranges::max_element(items));
    const auto took = static_cast<double>(SimulatedRanks(items, 16).Makespan().count());
    to_best += took / static_cast<double>(best.count()) / kTries;
    to_greedy += took / static_cast<double>(GreedyMakespan(items, 16).count()) / kTries;
  }
  std::cout << to_best << " of the best time, " << to_greedy << " of the greedy way's\n";
  EXPECT_LE(to_best, 1.05);
  EXPECT_LE(to_greedy, 1.01);
}

// How much longer than the best time: items of a sweep, the longest ones last in the order of writing.
double SweepToBest(uint32_t seed, bool with_classes) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> about(0.8, 1.2);
  std::vector<Duration> items;
  std::vector<uint8_t> classes;
  for (uint8_t model = 0; model < 4; ++model) {
    for (int i = 0; i < 60; ++i) {
      const std::chrono::duration<double> time(about(random) * (1 << (2 * model)));
      items.push_back(std::chrono::duration_cast<Duration>(time));
      if (with_classes) classes.push_back(model);
    }
  }
  const Duration best = std::accumulate(items.begin(), items.end(), Duration::zero()) / 16;
  return static_cast<double>(SimulatedRanks(items, 16, classes).Makespan().count()) /
         static_cast<double>(best.count());
}

TEST(Makespan, ClassesShortenASweepWhoseLongestItemsComeLast) {
  constexpr int kTries = 20;
  double with = 0;
  double without = 0;
  for (uint32_t seed = 1; seed <= kTries; ++seed) {
    with += SweepToBest(seed, true) / kTries;
    without += SweepToBest(seed, false) / kTries;
  }
  std::cout << "with classes " << with << ", without " << without << '\n';
  EXPECT_LE(with, 1.05);
  EXPECT_GE(without, with + 0.02);
}

}  // namespace
}  // namespace muster::map
