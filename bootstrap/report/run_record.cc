#include "bootstrap/report/run_record.h"

#include <algorithm>
#include <array>

#include "bootstrap/process/end_request.h"
#include "comm/base/lists.h"

namespace muster::report {

std::string_view OutcomeName(RankOutcome outcome) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"ok", "failed", "terminated", "killed", "lost", "missing", "not_started"});
  static_assert(kNames.size() == static_cast<size_t>(RankOutcome::kNotStarted) + 1);
  return kNames.at(static_cast<size_t>(outcome));
}

bool IsRequest(const rendezvous::Failure& failure) {
  return failure.as_requested && process::AsksToEnd(failure.exit_status - 128);
}

RankOutcome RunRecord::OutcomeOf(int rank) const {
  const RankRecord& record = ranks[static_cast<size_t>(rank)];
  const bool first_failure = failure && failure->rank == rank;
  if (!formed) {
    if (record.arrived || record.end) return first_failure ? RankOutcome::kFailed : RankOutcome::kNotStarted;
    return RankOutcome::kMissing;
  }
  if (!record.end) {
    if (record.left) return RankOutcome::kOk;
    return first_failure && failure->exit_status >= 0 ? RankOutcome::kFailed : RankOutcome::kLost;
  }
  switch (record.end->cause) {
    case rendezvous::EndCause::kNotStarted:
      return first_failure ? RankOutcome::kFailed : RankOutcome::kNotStarted;
    case rendezvous::EndCause::kTerminated:
      return RankOutcome::kTerminated;
    case rendezvous::EndCause::kKilled:
      return RankOutcome::kKilled;
    case rendezvous::EndCause::kItself:
      break;
  }
  if (failure && IsRequest(*failure) &&
      (process::AsksToEnd(record.end->signal) || record.end->exit_code == failure->exit_status)) {
    return RankOutcome::kTerminated;
  }
  const bool well = record.end->exit_code == 0 && record.end->signal == 0;
  return well && !first_failure ? RankOutcome::kOk : RankOutcome::kFailed;
}

std::map<RankOutcome, std::vector<int>> RanksByOutcome(const RunRecord& record) {
  std::map<RankOutcome, std::vector<int>> ranks;
  for (size_t rank = 0; rank < record.ranks.size(); ++rank) {
    ranks[record.OutcomeOf(static_cast<int>(rank))].push_back(static_cast<int>(rank));
  }
  return ranks;
}

std::vector<Moment> MomentsInOrder(const RunRecord& record, const MomentOf& moment_of) {
  std::vector<Moment> moments;
  for (size_t rank = 0; rank < record.ranks.size(); ++rank) {
    const std::optional<Duration> at = moment_of(record.ranks[rank]);
    if (at) moments.push_back({static_cast<int>(rank), *at});
  }
  std::ranges::stable_sort(moments, {}, &Moment::at);
  return moments;
}

std::vector<Moment> ArrivalsInOrder(const RunRecord& record) {
  return MomentsInOrder(record, [&](const RankRecord& rank) -> std::optional<Duration> {
    if (!rank.arrived) return std::nullopt;
    return record.joining + *rank.arrived;
  });
}

std::vector<Moment> EndsInOrder(const RunRecord& record) {
  return MomentsInOrder(record, [&](const RankRecord& rank) -> std::optional<Duration> {
    // The roster reaches all within milliseconds: from there on the clocks agree.
    if (!rank.end || !record.formed) return std::nullopt;
    return *record.formed + rank.end->run;
  });
}

std::string DescribeRank(const RunRecord& record, int rank) {
  const bool known = rank >= 0 && rank < static_cast<int>(record.ranks.size());
  const std::string node = known ? record.ranks[static_cast<size_t>(rank)].node : "";
  return muster::DescribeRank(rank, node);
}

}  // namespace muster::report
