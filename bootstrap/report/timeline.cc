#include "bootstrap/report/timeline.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace muster::report {
namespace {

constexpr double kStartPercent = 33;
// A start that takes more of the whole than this needs no scale of its own.
constexpr double kStartIsSmall = 0.2;
constexpr int kFinest = 100;
constexpr int kTicks = 5;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// The worst first.
int Order(RankOutcome outcome) {
  constexpr std::array kOrder = {RankOutcome::kFailed,     RankOutcome::kLost,   RankOutcome::kMissing,
                                 RankOutcome::kNotStarted, RankOutcome::kKilled, RankOutcome::kTerminated,
                                 RankOutcome::kOk};
  return static_cast<int>(std::ranges::find(kOrder, outcome) - kOrder.begin());
}

std::vector<std::optional<Moment>> ByRank(const std::vector<Moment>& moments, size_t ranks) {
  std::vector<std::optional<Moment>> by_rank(ranks);
  for (const Moment& moment : moments) by_rank[static_cast<size_t>(moment.rank)] = moment;
  return by_rank;
}

void Widen(const std::optional<Moment>& moment, std::optional<Moment>& first, std::optional<Moment>& last) {
  if (!moment) return;
  if (!first || moment->at < first->at) first = moment;
  if (!last || moment->at > last->at) last = moment;
}

std::vector<TimelineRow> RowsAt(const RunRecord& record, int steps) {
  const auto arrivals = ByRank(ArrivalsInOrder(record), record.ranks.size());
  const auto ends = ByRank(EndsInOrder(record), record.ranks.size());
  const TimeScale scale(record);
  const auto bucket = [&](const std::optional<Moment>& moment) {
    return moment ? static_cast<int>(scale.Percent(moment->at) * steps / 100) : -1;
  };
  using Key = std::tuple<bool, int, int, int>;
  std::map<Key, TimelineRow> rows;
  for (size_t rank = 0; rank < record.ranks.size(); ++rank) {
    const RankOutcome outcome = record.OutcomeOf(static_cast<int>(rank));
    const bool first = record.failure && record.failure->rank == static_cast<int>(rank);
    TimelineRow& row = rows[{!first, Order(outcome), bucket(arrivals[rank]), bucket(ends[rank])}];
    row.outcome = outcome;
    row.first_failure = first;
    row.ranks.push_back(static_cast<int>(rank));
    const std::string& node = record.ranks[rank].node;
    if (!node.empty() && std::ranges::find(row.nodes, node) == row.nodes.end()) row.nodes.push_back(node);
    Widen(arrivals[rank], row.first_arrival, row.last_arrival);
    Widen(ends[rank], row.first_end, row.last_end);
  }
  std::vector<TimelineRow> list;
  for (auto& [key, row] : rows) list.push_back(std::move(row));
  std::ranges::stable_sort(list, {}, [](const TimelineRow& row) {
    return std::tuple(!row.first_failure, Order(row.outcome), row.ranks.front());
  });
  return list;
}

// 1, 2 or 5 times a power of ten nanoseconds, so that at most kTicks + 1 of them fit.
Duration RoundStep(Duration span) {
  for (Duration power(1);; power *= 10) {
    for (const int factor : {1, 2, 5}) {
      if (factor * power * kTicks >= span) return factor * power;
    }
  }
}

void AddTicks(Duration from, Duration to, std::vector<Duration>& ticks) {
  if (to <= from) return;
  const Duration step = RoundStep(to - from);
  for (Duration at = (from + step - Duration(1)) / step * step; at <= to; at += step) ticks.push_back(at);
}

}  // namespace

std::vector<TimelineRow> TimelineRows(const RunRecord& record, size_t most) {
  int steps = kFinest;
  std::vector<TimelineRow> rows = RowsAt(record, steps);
  while (rows.size() > most && steps > 1) rows = RowsAt(record, steps /= 2);
  return rows;
}

TimeScale::TimeScale(const RunRecord& record)
    : start_(record.initialized.value_or(record.formed.value_or(record.joining))),
      total_(std::max(record.ended, Duration(1))) {
  const double share = Seconds(start_) / Seconds(total_);
  if (record.formed && share > 0 && share < kStartIsSmall) split_percent_ = kStartPercent;
}

double TimeScale::Percent(Duration at) const {
  const double seconds = std::clamp(Seconds(at), 0.0, Seconds(total_));
  if (!split()) return 100 * seconds / Seconds(total_);
  if (at <= start_) return split_percent_ * seconds / Seconds(start_);
  return split_percent_ + (100 - split_percent_) * (seconds - Seconds(start_)) / Seconds(total_ - start_);
}

std::vector<Duration> TimeScale::Ticks() const {
  std::vector<Duration> ticks;
  if (split()) AddTicks({}, start_, ticks);
  const Duration from = split() ? start_ : Duration{};
  AddTicks(from, total_, ticks);
  return ticks;
}

}  // namespace muster::report
