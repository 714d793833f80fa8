#include "bootstrap/run/verdict/run_verdict.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster::run {
namespace {

// A signal that Slurm sends to all ranks together is one request.
constexpr Duration kOneRequest = std::chrono::seconds(1);
}  // namespace

void RunVerdict::Formed(rendezvous::FormedGroup group, std::vector<int> own_ranks) {
  place_.group = std::move(group);
  place_.own_ranks = std::move(own_ranks);
}

bool RunVerdict::Failed(const rendezvous::Failure& failure) {
  if (failure_) return false;
  failure_ = failure;
  return true;
}

RunSteps RunVerdict::ProgramEnded(const EndedProgram& program, bool all_ended, Clock::time_point now) {
  ended_at_ = now;
  switch (own_.Ended(program, failure_.has_value(), request_.Explains(now).has_value())) {
    case OwnFailures::Next::kNothing:
      return {};
    case OwnFailures::Next::kDone:
      return all_ended ? AfterPrograms(facts_, place_) : RunSteps{};
    case OwnFailures::Next::kReport:
      return {RunStep::kReport};
    case OwnFailures::Next::kReportSoon:
      return {RunStep::kReportSoon};
  }
  return {};
}

RunSteps RunVerdict::Excuse(int rank, bool all_ended) {
  const OwnFailures::Next next = own_.Excuse(rank);
  if (next == OwnFailures::Next::kReport) return {RunStep::kReport};
  if (next == OwnFailures::Next::kNothing) return {};
  if (all_ended) return AfterPrograms(facts_, place_);
  // The wait for them may have ended while this failure was on its way.
  return own_.LostRanks().empty() ? RunSteps{} : RunSteps{RunStep::kAwaitLost};
}

RunSteps RunVerdict::SignalledAfterPrograms(int number, Clock::time_point now) {
  // It requests a thread dump of programs, and this process has none.
  if (number == SIGQUIT) return {};
  // The run has succeeded, and this process has left its group.
  if (awaits_left_behind()) {
    noted_.left_behind_over = true;
    return {};
  }
  // The request that ended the programs may have several signals. No request ended a program that failed by itself.
  const bool by_itself = failure_ && !failure_->as_requested;
  const bool same = !by_itself && now - ended_at_ < kOneRequest;
  const bool awaits_output =
      begun_.contains(EndStage::kOutput) || begun_.contains(EndStage::kOutputAfterFailure);
  if ((awaits_output || failure_) && !same) noted_.waits_end = true;
  if (awaits_output) return {same ? RunStep::kLimitOutput : RunStep::kGiveUpOutput};
  // Only the report of how other programs ended is still waited for.
  if (begun_.contains(EndStage::kEnds)) return {RunStep::kFinishSoon};
  // The program received this very signal and exited with 0. After a failure, the next steps are short.
  if (same || failure_) return {};
  return {RunStep::kReportSignal};
}

bool RunVerdict::SignalledAtEnd(const process::EndSignal& signal, Clock::time_point now) {
  if (!process::AsksToEnd(signal.number)) return false;
  request_.Take(signal, now);
  noted_.waits_end = true;
  return true;
}

RunSteps RunVerdict::FilesFound() {
  noted_.files_found = true;
  return facts_.alone ? RunSteps{} : RunSteps{RunStep::kGatherFiles};
}

RunSteps RunVerdict::Next(bool all_ended, bool written, bool left_behind) {
  if (status_) return {};
  const EndStage stage =
      StageOf(facts_, noted_, {all_ended, written, left_behind, failure_.has_value(), own_.reported()});
  if (!failure_ && stage > EndStage::kLeftBehind) noted_.left_behind_over = true;
  if (!begun_.insert(stage).second) return {};
  return StepsOf(stage, noted_.waits_end, EndingSignal().has_value());
}

std::optional<int> RunVerdict::EndingSignal() const {
  const std::optional<int> signal = request_.Explains(ended_at_);
  return signal == SIGQUIT ? std::nullopt : signal;
}

}  // namespace muster::run
