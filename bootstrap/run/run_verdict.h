// A run as its supervisor has it: the failure, the request to end, the exit status. A value: the supervisor adds
// facts and carries out the steps that follow from them (run_end.h). No process, no socket; the time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "bootstrap/process/end_request.h"
#include "bootstrap/run/failure_log.h"
#include "bootstrap/run/own_failure.h"
#include "bootstrap/run/run_end.h"
#include "comm/base/deadline.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::run {

class RunVerdict {
 public:
  explicit RunVerdict(const RunFacts& facts) : facts_(facts), request_(facts.grace) {}

  // Facts. `all_ended`: no program of this process runs.
  void Formed(rendezvous::FormedGroup group, std::vector<int> own_ranks);
  void BecomeRoot() { place_.is_root = true; }
  EndFacts& noted() { return noted_; }
  const EndFacts& noted() const { return noted_; }
  void Lost(int rank) { lost_.push_back(rank); }
  // Those that are not excused.
  std::vector<int> LostRanks() const;
  // The program of this rank failed while a map was at work, which goes on without it.
  RunSteps Excuse(int rank, bool all_ended);
  bool IsExcused(int rank) const { return excused_.contains(rank); }
  // A failure of this process is on its way to the root, or follows within 200 ms.
  void Reported() { reported_ = true; }
  // The group's failure. False: not the first.
  bool Failed(const rendezvous::Failure& failure);
  // The first call counts. Without a status: the failure's, or 0; 71 if output was lost.
  void Finish(int status) { status_ = status_.value_or(status); }
  void Finish() {
    const int without_failure = noted_.output_lost ? ExitStatus(Code::kSystem) : 0;
    Finish(failure_ ? StatusOf(*failure_) : without_failure);
  }
  RunSteps ProgramEnded(const EndedProgram& program, bool all_ended, Clock::time_point now);
  // SIGINT, HUP, QUIT or TERM, when no program of this process runs.
  RunSteps SignalledAfterPrograms(int number, Clock::time_point now);
  // Once there is a status: only the report and the last lines of the log are left. False: `signal` is no request to end.
  bool SignalledAtEnd(const process::EndSignal& signal, Clock::time_point now);
  // The signal of the request to end that explains the end of the programs; not SIGQUIT.
  std::optional<int> EndingSignal() const;
  RunSteps FilesFound();

  // The next step of a run whose programs have ended; each is due once. The arguments: EndMoment.
  RunSteps Next(bool all_ended, bool written, bool left_behind = false);
  bool MayAwaitLeftBehind() const {
    return may_report() && !noted_.left_behind_over && IsOver(facts_, noted_);
  }
  bool awaits_left_behind() const {
    return begun_.contains(EndStage::kLeftBehind) && !noted_.left_behind_over;
  }

  const RunFacts& facts() const { return facts_; }
  process::EndRequest& request() { return request_; }
  const process::EndRequest& request() const { return request_; }
  const RunPlace& place() const { return place_; }
  const std::optional<rendezvous::Failure>& failure() const { return failure_; }
  bool may_report() const { return !failure_ && !reported_; }
  std::optional<int> status() const { return status_; }
  // The first that failed or exited without leaving its group.
  const std::optional<EndedProgram>& failed_program() const { return failed_program_; }

 private:
  // Its program closed its connections; its exit is awaited.
  bool AnotherFailedBefore(int rank) const;

  RunFacts facts_;
  RunPlace place_;
  process::EndRequest request_;
  Clock::time_point ended_at_{};  // the latest program
  std::vector<int> lost_;         // ranks whose program closed its connections without leaving the group
  std::set<int> excused_;
  std::vector<EndedProgram> failed_meanwhile_;  // while an earlier failure is on its way, or is due
  std::optional<EndedProgram> failed_program_;
  std::optional<rendezvous::Failure> failure_;
  std::optional<int> status_;
  bool reported_ = false;
  EndFacts noted_;
  std::set<EndStage> begun_;
};

}  // namespace muster::run
