#include "bootstrap/run/own_failure_reporter.h"

#include <vector>

namespace muster::run {
namespace {

using std::chrono::milliseconds;

// A program that drops out of its group is usually about to exit with a status, which shows more.
constexpr Duration kExitStatusWithin = milliseconds(500);
// A signal to a whole step or terminal reaches the program and its supervisor in either order.
constexpr Duration kSameSignalWithin = milliseconds(200);

}  // namespace

void OwnFailureReporter::Report(const rendezvous::Failure& failure) {
  if (IsTolerated(failure)) {
    if (!verdict_.own().IsExcused(failure.rank)) plane_->maps().LoseProgram(failure);
    return events_.on_steps(verdict_.Excuse(failure.rank, programs_.all_ended()));
  }
  verdict_.own().Reported();
  if (plane_ != nullptr) return plane_->failures().Fail(failure);
  verdict_.noted().all_know = true;
  events_.on_failure(failure);
}

bool OwnFailureReporter::IsTolerated(const rendezvous::Failure& failure) const {
  if (failure.as_requested && !TimeIsUp(failure)) return false;
  if (verdict_.own().IsExcused(failure.rank) || ended_in_map_.contains(failure.rank)) return true;
  return plane_ != nullptr && plane_->maps().tolerates() && programs_.Find(failure.rank) != nullptr;
}

void OwnFailureReporter::ReportProgram() {
  if (verdict_.failure()) return;
  Report(FailureOfProgram(verdict_.place(), verdict_.request(), *verdict_.own().first(),
                          programs_.Find(verdict_.own().first()->rank)->TailOfStderr(), Clock::now()));
}

void OwnFailureReporter::ReportProgramSoon() {
  if (plane_ != nullptr) plane_->failures().Await(verdict_.own().first()->rank, kSameSignalWithin);
  loop_.After(kSameSignalWithin, [this] { ReportProgram(); });
}

void OwnFailureReporter::AwaitLost() {
  for (const int rank : verdict_.own().LostRanks()) AwaitExitStatus(rank);
}

void OwnFailureReporter::Lose(int rank, pid_t process) {
  lost_processes_[rank] = process;
  verdict_.own().Lost(rank);
  AwaitExitStatus(rank);
}

void OwnFailureReporter::AwaitExitStatus(int rank) {
  if (!verdict_.request().Explains(Clock::now())) plane_->failures().Await(rank, kExitStatusWithin);
  loop_.After(kExitStatusWithin, [this, rank] {
    const RankProgram* program = verdict_.may_report() ? programs_.Find(rank) : nullptr;
    if (program != nullptr)
      Report(FailureOfLost(verdict_.place(), verdict_.request(), rank, program->exit().has_value(),
                           Clock::now(), programs_.HelperOf(rank, lost_processes_[rank])));
  });
}

void OwnFailureReporter::EndMaps() {
  const std::vector<int> exited = programs_.ExitedRanks();
  ended_in_map_.insert(exited.begin(), exited.end());
}

}  // namespace muster::run
