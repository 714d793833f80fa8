#include "bootstrap/run/run_verdict.h"

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
  // Its connections had closed before.
  if (excused_.contains(program.rank))
    return all_ended && may_report() ? AfterPrograms(facts_, place_) : RunSteps{};
  const process::ChildExit& exit = program.exit;
  const bool failed = !exit.ok() || std::ranges::count(lost_, program.rank) > 0;
  // A leave message after a reported failure would let this process go with 0.
  if (!may_report() || (failed && !request_.Explains(now) && AnotherFailedBefore(program.rank))) {
    if (failed && !failure_) failed_meanwhile_.push_back(program);
    return {};
  }
  if (!failed) return all_ended ? AfterPrograms(facts_, place_) : RunSteps{};
  reported_ = true;
  failed_program_ = program;
  // A signal to a whole step or terminal reaches the program and its supervisor in either order.
  const bool may_be_asked = !request_.Explains(now) && process::AsksToEnd(exit.ShellStatus() - 128);
  return {may_be_asked ? RunStep::kReportSoon : RunStep::kReport};
}

bool RunVerdict::AnotherFailedBefore(int rank) const {
  const std::vector<int> lost = LostRanks();
  return !lost.empty() && lost.front() != rank;
}

std::vector<int> RunVerdict::LostRanks() const {
  std::vector<int> ranks = lost_;
  std::erase_if(ranks, [this](int rank) { return IsExcused(rank); });
  return ranks;
}

RunSteps RunVerdict::Excuse(int rank, bool all_ended) {
  if (!excused_.insert(rank).second) return {};
  reported_ = false;
  failed_program_.reset();
  std::erase_if(failed_meanwhile_, [this](const EndedProgram& program) { return IsExcused(program.rank); });
  if (failed_meanwhile_.empty()) {
    if (all_ended) return AfterPrograms(facts_, place_);
    // The wait for them may have ended while this failure was on its way.
    return LostRanks().empty() ? RunSteps{} : RunSteps{RunStep::kAwaitLost};
  }
  reported_ = true;
  failed_program_ = failed_meanwhile_.front();
  return {RunStep::kReport};
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
      StageOf(facts_, noted_, {all_ended, written, left_behind, failure_.has_value(), reported_});
  if (!failure_ && stage > EndStage::kLeftBehind) noted_.left_behind_over = true;
  if (!begun_.insert(stage).second) return {};
  return StepsOf(stage, noted_.waits_end, EndingSignal().has_value());
}

std::optional<int> RunVerdict::EndingSignal() const {
  const std::optional<int> signal = request_.Explains(ended_at_);
  return signal == SIGQUIT ? std::nullopt : signal;
}

}  // namespace muster::run
