#include "bootstrap/run/run_verdict.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "comm/log/log.h"

namespace muster::run {
namespace {

// A signal that Slurm sends to all ranks together is one request.
constexpr Duration kOneRequest = std::chrono::seconds(1);
// Beyond run.grace, for the report of how the programs below ended; the root waits for the leaders' as well.
constexpr Duration kEndsWithin = std::chrono::seconds(2);
constexpr Duration kAllEndsWithin = std::chrono::seconds(4);
// After a failure the readers of the output have run.grace, and at least this.
constexpr Duration kLeastForReader = std::chrono::seconds(5);
// After a request to end that came late.
constexpr Duration kLinesWithin = std::chrono::milliseconds(100);

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
  if (excused_.contains(program.rank)) return all_ended && may_report() ? ProgramsDone() : RunSteps{};
  const process::ChildExit& exit = program.exit;
  const bool failed = !exit.ok() || std::ranges::count(lost_, program.rank) > 0;
  // A leave message after a reported failure would let this process go with 0.
  if (!may_report() || (failed && !request_.Explains(now) && AnotherFailedBefore(program.rank))) {
    if (failed && !failure_) failed_meanwhile_.push_back(program);
    return {};
  }
  if (!failed) return all_ended ? ProgramsDone() : RunSteps{};
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
    if (all_ended) return ProgramsDone();
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
    left_behind_over_ = true;
    return {};
  }
  // The request that ended the programs may have several signals. No request ended a program that failed by itself.
  const bool by_itself = failure_ && !failure_->as_requested;
  const bool same = !by_itself && now - ended_at_ < kOneRequest;
  if ((awaits_output_ || failure_) && !same) waits_end_ = true;
  if (awaits_output_) return {same ? RunStep::kLimitOutput : RunStep::kGiveUpOutput};
  // Only the report of how other programs ended is still waited for.
  if (sends_ends_) return {RunStep::kFinishSoon};
  // The program received this very signal and exited with 0. After a failure, the next steps are short.
  if (same || failure_) return {};
  return {RunStep::kReportSignal};
}

bool RunVerdict::SignalledAtEnd(const process::EndSignal& signal, Clock::time_point now) {
  if (!process::AsksToEnd(signal.number)) return false;
  request_.Take(signal, now);
  waits_end_ = true;
  return true;
}

RunSteps RunVerdict::ProgramsDone() const {
  if (facts_.alone) return facts_.expects_files ? RunSteps{RunStep::kCheckFiles} : RunSteps{};
  RunSteps steps;
  if (facts_.for_every_rank && facts_.writes_report) steps.push_back(RunStep::kSendExitReport);
  // The store is needed until the last program has ended; the root stays as long by itself.
  const bool store_waits =
      facts_.muster_store && !place_.group.roster.OfOneProcess(place_.group.root_rank, 0);
  // A supervisor that has left would be missing when the others start again.
  const bool all_wait = !facts_.for_every_rank || facts_.expects_files || facts_.may_restart;
  if (all_wait || store_waits) steps.push_back(RunStep::kGatherAllDone);
  if (!all_wait && !(store_waits && facts_.keeps_store)) steps.push_back(RunStep::kLeave);
  return steps;
}

RunSteps RunVerdict::Gathered(std::string_view exchange) const {
  if (exchange == kAllDone && facts_.expects_files) {
    return {place_.is_root ? RunStep::kCheckFiles : RunStep::kGatherFiles};
  }
  return exchange == kAllDone || exchange == kFilesAreThere ? RunSteps{RunStep::kLeave} : RunSteps{};
}

RunSteps RunVerdict::FilesFound() {
  files_found_ = true;
  return facts_.alone ? RunSteps{} : RunSteps{RunStep::kGatherFiles};
}

RunSteps RunVerdict::Next(bool all_ended, bool written, bool left_behind) {
  if (status_ || !all_ended) return {};
  if (failure_) {
    // Not before all ranks have the failure; then the root receives how the programs ended.
    if (!all_know_) {
      return std::exchange(awaits_all_, true) ? RunSteps{} : RunSteps{RunStep::kAwaitAllKnow};
    }
    if (!facts_.alone && !ends_received_) {
      if (std::exchange(sends_ends_, true)) return {};
      return waits_end_ ? RunSteps{RunStep::kSendEnds, RunStep::kFinishSoon} : RunSteps{RunStep::kSendEnds};
    }
  } else {
    // A failure of this process is still on its way.
    if (reported_) return {};
    if (!done()) return {};
    // `tee` in `exec > >(tee log)` ends a moment after its program.
    if (left_behind && !left_behind_over_) {
      return std::exchange(awaits_left_behind_, true) ? RunSteps{} : RunSteps{RunStep::kAwaitLeftBehind};
    }
    left_behind_over_ = true;
  }
  if (written) return {RunStep::kFinish};
  // Once, and once more if a failure comes while the output of a good run is awaited: then the wait has a limit.
  const bool has_begun = failure_ ? std::exchange(awaits_output_in_failure_, true) : awaits_output_;
  awaits_output_ = true;
  if (has_begun) return {};
  if (waits_end_) return {RunStep::kGiveUpOutput};
  if (!failure_ && EndingSignal()) return {RunStep::kAwaitOutput, RunStep::kLimitOutput};
  return {RunStep::kAwaitOutput};
}

std::optional<int> RunVerdict::EndingSignal() const {
  const std::optional<int> signal = request_.Explains(ended_at_);
  return signal == SIGQUIT ? std::nullopt : signal;
}

RestEnds RunVerdict::HowRestEnds(Clock::time_point now) const {
  // The programs of other ranks notice it too, and may still write what they have.
  if (TimeIsUp(*failure_)) return RestEnds::kAfterGrace;
  if (!failure_->as_requested) return RestEnds::kNow;
  const auto sender_ends_until = request_.LeftToSenderUntil();
  if (sender_ends_until && now <= *sender_ends_until) return RestEnds::kBySender;
  return request_.Explains(now) ? RestEnds::kNow : RestEnds::kSoon;
}

Duration RunVerdict::SenderEndsWithin(Clock::time_point now) const {
  const auto until = request_.LeftToSenderUntil();
  if (!until || !failure_->as_requested || TimeIsUp(*failure_)) return Duration::zero();
  return std::max(*until - now, Duration::zero());
}

Duration RunVerdict::OthersEndWithin(Clock::time_point now) const {
  const Duration grace = facts_.grace * (TimeIsUp(*failure_) ? 2 : 1);
  return SenderEndsWithin(now) + grace + kKilledEndWithin + (place_.is_root ? kAllEndsWithin : kEndsWithin);
}

Duration RunVerdict::ReaderWithin() const { return std::max(facts_.grace, kLeastForReader); }

Duration RunVerdict::LastLinesWithin(std::optional<Duration> reader_left) const {
  if (waits_end_) return kLinesWithin;
  return std::max(kLastLinesWithin, reader_left.value_or(ReaderWithin()));
}

bool RunVerdict::LogsSummary(Clock::time_point now) const {
  return failure_ && !facts_.alone && !failure_->as_requested && !request_.Explains(now);
}

}  // namespace muster::run
