#include "bootstrap/run/verdict/run_end.h"

#include <algorithm>

#include "bootstrap/run/verdict/own_failure.h"
#include "comm/log/log.h"

namespace muster::run {
namespace {

// Beyond run.grace, for the report of how the programs below ended; the root waits for the leaders' as well.
constexpr Duration kEndsWithin = std::chrono::seconds(2);
constexpr Duration kAllEndsWithin = std::chrono::seconds(4);
// After a failure the readers of the output have run.grace, and at least this.
constexpr Duration kLeastForReader = std::chrono::seconds(5);
// After a request to end that came late.
constexpr Duration kLinesWithin = std::chrono::milliseconds(100);

}  // namespace

RunSteps AfterPrograms(const RunFacts& facts, const RunPlace& place) {
  if (facts.alone) return facts.expects_files ? RunSteps{RunStep::kCheckFiles} : RunSteps{};
  RunSteps steps;
  if (facts.for_every_rank && facts.writes_report) steps.push_back(RunStep::kSendExitReport);
  // The store is needed until the last program has ended; the root stays as long by itself.
  const bool store_waits = facts.muster_store && !place.group.roster.OfOneProcess(place.group.root_rank, 0);
  // A supervisor that has left would be missing when the others start again.
  const bool all_wait = !facts.for_every_rank || facts.expects_files || facts.may_restart;
  if (all_wait || store_waits) steps.push_back(RunStep::kGatherAllDone);
  if (!all_wait && !(store_waits && facts.keeps_store)) steps.push_back(RunStep::kLeave);
  return steps;
}

RunSteps AfterExchange(const RunFacts& facts, bool is_root, std::string_view exchange) {
  if (exchange == kAllDone && facts.expects_files)
    return {is_root ? RunStep::kCheckFiles : RunStep::kGatherFiles};
  return exchange == kAllDone || exchange == kFilesAreThere ? RunSteps{RunStep::kLeave} : RunSteps{};
}

bool IsOver(const RunFacts& facts, const EndFacts& noted) {
  return facts.alone ? !facts.expects_files || noted.files_found : noted.released;
}

EndStage StageOf(const RunFacts& facts, const EndFacts& noted, const EndMoment& now) {
  if (!now.all_ended) return EndStage::kRuns;
  if (now.failed) {
    // Not before all ranks have the failure; then the root receives how the programs ended.
    if (!noted.all_know) return EndStage::kAllKnow;
    if (!facts.alone && !noted.ends_received) return EndStage::kEnds;
    return now.written ? EndStage::kOver : EndStage::kOutputAfterFailure;
  }
  if (now.reported || !IsOver(facts, noted)) return EndStage::kRuns;
  // `tee` in `exec > >(tee log)` ends a moment after its program.
  if (now.left_behind && !noted.left_behind_over) return EndStage::kLeftBehind;
  return now.written ? EndStage::kOver : EndStage::kOutput;
}

RunSteps StepsOf(EndStage stage, bool waits_end, bool requested) {
  switch (stage) {
    case EndStage::kRuns:
      return {};
    case EndStage::kAllKnow:
      return {RunStep::kAwaitAllKnow};
    case EndStage::kEnds:
      return waits_end ? RunSteps{RunStep::kSendEnds, RunStep::kFinishSoon} : RunSteps{RunStep::kSendEnds};
    case EndStage::kLeftBehind:
      return {RunStep::kAwaitLeftBehind};
    case EndStage::kOutput:
    case EndStage::kOutputAfterFailure:
      if (waits_end) return {RunStep::kGiveUpOutput};
      if (requested && stage == EndStage::kOutput) return {RunStep::kAwaitOutput, RunStep::kLimitOutput};
      return {RunStep::kAwaitOutput};
    case EndStage::kOver:
      return {RunStep::kFinish};
  }
  return {};
}

RestEnds HowRestEnds(const rendezvous::Failure& failure, const process::EndRequest& request,
                     Clock::time_point now) {
  // The programs of other ranks notice it too, and may still write what they have.
  if (TimeIsUp(failure)) return RestEnds::kAfterGrace;
  if (!failure.as_requested) return RestEnds::kNow;
  const auto sender_ends_until = request.LeftToSenderUntil();
  if (sender_ends_until && now <= *sender_ends_until) return RestEnds::kBySender;
  return request.Explains(now) ? RestEnds::kNow : RestEnds::kSoon;
}

Duration SenderEndsWithin(const rendezvous::Failure& failure, const process::EndRequest& request,
                          Clock::time_point now) {
  const auto until = request.LeftToSenderUntil();
  if (!until || !failure.as_requested || TimeIsUp(failure)) return Duration::zero();
  return std::max(*until - now, Duration::zero());
}

Duration OthersEndWithin(const rendezvous::Failure& failure, const process::EndRequest& request,
                         Duration grace, bool is_root, Clock::time_point now) {
  return SenderEndsWithin(failure, request, now) + grace * (TimeIsUp(failure) ? 2 : 1) + kKilledEndWithin +
         (is_root ? kAllEndsWithin : kEndsWithin);
}

Duration ReaderWithin(Duration grace) { return std::max(grace, kLeastForReader); }

Duration LastLinesWithin(Duration grace, std::optional<Duration> reader_left, bool waits_end) {
  if (waits_end) return kLinesWithin;
  return std::max(kLastLinesWithin, reader_left.value_or(ReaderWithin(grace)));
}

bool LogsSummary(const RunFacts& facts, const std::optional<rendezvous::Failure>& failure,
                 const process::EndRequest& request, Clock::time_point now) {
  return failure && !facts.alone && !failure->as_requested && !request.Explains(now);
}

bool MayStartAgain(const std::optional<rendezvous::Failure>& failure) {
  return failure && failure->exit_status > 0 && !failure->as_requested;
}

}  // namespace muster::run
