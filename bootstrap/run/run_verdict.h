// The decisions of a supervisor about its run: which failure it reports, the exchanges at the end, the exit
// status, the next try. A value: the supervisor adds facts and carries out the steps that follow from them. No
// process, no socket; the time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "bootstrap/process/end_request.h"
#include "bootstrap/run/failure_log.h"
#include "bootstrap/run/own_failure.h"
#include "comm/base/deadline.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::run {

// The exchange among supervisors that ends a group when all programs have ended, and the one that follows it
// if files are expected: the root takes part in that once it has found them. Both begin with kAmongSupervisors.
inline constexpr std::string_view kAllDone = "supervisors/all programs have ended";
inline constexpr std::string_view kFilesAreThere = "supervisors/the expected files are there";

enum class RunStep : uint8_t {
  kReport,        // FailureOfProgram
  kReportSoon,    // the same, 200 ms later
  kReportSignal,  // FailureOfSignal
  kAwaitLost,     // the exit of each of LostRanks, for 500 ms
  kSendExitReport,
  kGatherAllDone,
  kGatherFiles,
  kLeave,
  kCheckFiles,
  kAwaitAllKnow,
  kSendEnds,         // how the programs ended, and wait until the root has it
  kAwaitLeftBehind,  // processes that programs left behind: for at most 500 ms
  kAwaitOutput,      // its readers: without a limit, after a failure for as long as run.grace
  kGiveUpOutput,     // what is not yet written, by a signal
  kLimitOutput,      // kGiveUpOutput after run.grace: a request has ended the programs
  kFinishSoon,       // after a second
  kFinish,
};
using RunSteps = std::vector<RunStep>;

// How the programs end that still run when the group has failed (run.stop_on_failure).
enum class RestEnds : uint8_t {
  kNow,   // SIGTERM now, and SIGKILL after run.grace
  kSoon,  // the same, unless the request that ended the failed rank comes to this process within a second
  kAfterGrace,  // the same, after run.grace
  kBySender,  // for SenderEndsWithin by the launcher or scheduler that has sent SIGTERM: they may write a checkpoint
};

// After SIGKILL; then they count as killed. The kernel may need seconds to free a large memory.
inline constexpr Duration kKilledEndWithin = std::chrono::seconds(10);

struct RunFacts {
  Duration grace{};            // run.grace
  bool alone = true;           // a world of one: no other supervisor
  bool for_every_rank = true;  // false: muster once
  bool expects_files = false;  // run.expect
  bool writes_report = false;  // run.report
  bool may_restart = false;    // --max-restarts: a program that fails starts all ranks again
  bool muster_store = false;   // run.store: muster
  bool keeps_store = false;    // in this process
};

class RunVerdict {
 public:
  explicit RunVerdict(const RunFacts& facts) : facts_(facts), request_(facts.grace) {}

  // Facts. `all_ended`: no program of this process runs.
  void Formed(rendezvous::FormedGroup group, std::vector<int> own_ranks);
  void BecomeRoot() { place_.is_root = true; }
  void AllKnow() { all_know_ = true; }
  void EndsReported() { ends_received_ = true; }
  void Released() { released_ = true; }
  void LeftBehindOver() { left_behind_over_ = true; }
  void Lost(int rank) { lost_.push_back(rank); }
  // Those that are not excused.
  std::vector<int> LostRanks() const;
  // Standard output or a log file could not be written.
  void OutputLost() { output_lost_ = true; }
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
    const int without_failure = output_lost_ ? ExitStatus(Code::kSystem) : 0;
    Finish(failure_ ? StatusOf(*failure_) : without_failure);
  }
  RunSteps ProgramEnded(const EndedProgram& program, bool all_ended, Clock::time_point now);
  // SIGINT, HUP, QUIT or TERM, when no program of this process runs.
  RunSteps SignalledAfterPrograms(int number, Clock::time_point now);
  // Once there is a status: only the report and the last lines of the log are left. False: `signal` is no request to end.
  bool SignalledAtEnd(const process::EndSignal& signal, Clock::time_point now);
  // A request to end came after the programs had ended, and each wait that is left is short.
  void EndWaits() { waits_end_ = true; }
  bool waits_end() const { return waits_end_; }
  // The signal of the request to end that explains the end of the programs; not SIGQUIT.
  std::optional<int> EndingSignal() const;
  // Empty: an exchange of the programs.
  RunSteps Gathered(std::string_view exchange) const;
  RunSteps FilesFound();

  // The programs have ended, or there are none.
  RunSteps ProgramsDone() const;
  // The next step of a run whose programs have ended; each is due once. `written`: their output is. `left_behind`:
  // processes run that they left behind; matters if MayAwaitLeftBehind.
  RunSteps Next(bool all_ended, bool written, bool left_behind = false);
  // A good run is over for this process.
  bool MayAwaitLeftBehind() const { return !failure_ && !reported_ && !left_behind_over_ && done(); }
  bool awaits_left_behind() const { return awaits_left_behind_ && !left_behind_over_; }

  const RunFacts& facts() const { return facts_; }
  process::EndRequest& request() { return request_; }
  const process::EndRequest& request() const { return request_; }
  const RunPlace& place() const { return place_; }
  const std::optional<rendezvous::Failure>& failure() const { return failure_; }
  bool may_report() const { return !failure_ && !reported_; }
  std::optional<int> status() const { return status_; }
  // The first that failed or exited without leaving its group.
  const std::optional<EndedProgram>& failed_program() const { return failed_program_; }
  // Once the group has failed.
  RestEnds HowRestEnds(Clock::time_point now) const;
  Duration SenderEndsWithin(Clock::time_point now) const;
  // The programs of the processes below, and the report of how they ended.
  Duration OthersEndWithin(Clock::time_point now) const;
  // The readers of the output: after a failure, or a request.
  Duration ReaderWithin() const;
  // The failure's line and the block at the end. `reader_left`: of ReaderWithin; absent: it has not begun.
  Duration LastLinesWithin(std::optional<Duration> reader_left) const;
  // The block at the end.
  bool LogsSummary(Clock::time_point now) const;
  // A program failed, no rank was lost, none received a request to end. The same on every supervisor.
  bool MayStartAgain() const { return failure_ && failure_->exit_status > 0 && !failure_->as_requested; }

 private:
  // Its program closed its connections; its exit is awaited.
  bool AnotherFailedBefore(int rank) const;
  bool done() const { return facts_.alone ? !facts_.expects_files || files_found_ : released_; }

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
  bool awaits_all_ = false;
  bool all_know_ = false;
  bool sends_ends_ = false;
  bool ends_received_ = false;
  bool released_ = false;
  bool awaits_left_behind_ = false;
  bool left_behind_over_ = false;
  bool awaits_output_ = false;
  bool awaits_output_in_failure_ = false;
  bool output_lost_ = false;
  bool files_found_ = false;
  bool waits_end_ = false;
};

}  // namespace muster::run
