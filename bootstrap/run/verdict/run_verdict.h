// A run as its supervisor has it: the failure, the request to end, the exit status. A value: the supervisor adds
// facts and carries out the steps that follow from them (run_end.h). No process, no socket; the time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "bootstrap/process/end_request.h"
#include "bootstrap/run/verdict/failure_log.h"
#include "bootstrap/run/verdict/own_failure.h"
#include "bootstrap/run/verdict/run_end.h"
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
  OwnFailures& own() { return own_; }
  const OwnFailures& own() const { return own_; }
  // The group's failure. False: not the first.
  bool Failed(const rendezvous::Failure& failure);
  // The first call counts. Without a status: the failure's, or 0; 71 if output was lost.
  void Finish(int status) { status_ = status_.value_or(status); }
  void Finish() {
    const int without_failure = noted_.output_lost ? ExitStatus(Code::kSystem) : 0;
    Finish(failure_ ? StatusOf(*failure_) : without_failure);
  }
  RunSteps ProgramEnded(const EndedProgram& program, bool all_ended, Clock::time_point now);
  // OwnFailures::Excuse.
  RunSteps Excuse(int rank, bool all_ended);
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
  // With other supervisors, and it has formed.
  bool in_group() const { return !facts_.alone && place_.group.roster.size() > 0; }
  const std::optional<rendezvous::Failure>& failure() const { return failure_; }
  bool may_report() const { return !failure_ && !own_.reported(); }
  std::optional<int> status() const { return status_; }

 private:
  RunFacts facts_;
  RunPlace place_;
  process::EndRequest request_;
  Clock::time_point ended_at_{};  // the latest program
  OwnFailures own_;
  std::optional<rendezvous::Failure> failure_;
  std::optional<int> status_;
  EndFacts noted_;
  std::set<EndStage> begun_;
};

}  // namespace muster::run
