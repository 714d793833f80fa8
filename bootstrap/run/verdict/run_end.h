// The end of a run: its decisions, each a function of values. No process, no socket; the time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bootstrap/process/end_request.h"
#include "bootstrap/run/verdict/failure_log.h"
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

// ---- a run without a failure

// The programs have ended, or there are none.
RunSteps AfterPrograms(const RunFacts& facts, const RunPlace& place);
// Empty: an exchange of the programs.
RunSteps AfterExchange(const RunFacts& facts, bool is_root, std::string_view exchange);

// ---- the last waits

// Noted since the start.
struct EndFacts {
  bool all_know = false;       // all ranks have the group's failure
  bool ends_received = false;  // the root has received how the programs ended
  bool released = false;       // from the group, after a good run
  bool files_found = false;
  bool left_behind_over = false;
  bool waits_end =
      false;  // a request to end came after the programs had ended: each wait that is left is short
  bool output_lost = false;  // standard output or a log file could not be written
};
// The present moment.
struct EndMoment {
  bool all_ended = false;    // no program of this process runs
  bool written = false;      // their output
  bool left_behind = false;  // processes run that they left behind; matters only if IsOver
  bool failed = false;       // the group
  bool reported = false;     // a failure of this process is on its way to the root, or follows within 200 ms
};
// The wait that a run is at.
enum class EndStage : uint8_t {
  kRuns,     // a program, or an exchange
  kAllKnow,  // all ranks receive the failure
  kEnds,     // the root receives how the programs ended
  kLeftBehind,
  kOutput,
  kOutputAfterFailure,
  kOver,
};
// A good run is over for this process.
bool IsOver(const RunFacts& facts, const EndFacts& noted);
EndStage StageOf(const RunFacts& facts, const EndFacts& noted, const EndMoment& now);
// When a stage begins. `requested`: a request has ended the programs.
RunSteps StepsOf(EndStage stage, bool waits_end, bool requested);

// ---- after a failure

// How the programs end that still run when the group has failed (run.stop_on_failure).
enum class RestEnds : uint8_t {
  kNow,   // SIGTERM now, and SIGKILL after run.grace
  kSoon,  // the same, unless the request that ended the failed rank comes to this process within a second
  kAfterGrace,  // the same, after run.grace
  kBySender,  // for SenderEndsWithin by the launcher or scheduler that has sent SIGTERM: they may write a checkpoint
};
RestEnds HowRestEnds(const rendezvous::Failure& failure, const process::EndRequest& request,
                     Clock::time_point now);
Duration SenderEndsWithin(const rendezvous::Failure& failure, const process::EndRequest& request,
                          Clock::time_point now);
// After SIGKILL; then they count as killed. The kernel may need seconds to free a large memory.
inline constexpr Duration kKilledEndWithin = std::chrono::seconds(10);
// The programs of the processes below, and the report of how they ended.
Duration OthersEndWithin(const rendezvous::Failure& failure, const process::EndRequest& request,
                         Duration grace, bool is_root, Clock::time_point now);
// The readers of the output: after a failure, or a request.
Duration ReaderWithin(Duration grace);
// The failure's line and the block at the end. `reader_left`: of ReaderWithin; absent: it has not begun.
Duration LastLinesWithin(Duration grace, std::optional<Duration> reader_left, bool waits_end);
// The block at the end.
bool LogsSummary(const RunFacts& facts, const std::optional<rendezvous::Failure>& failure,
                 const process::EndRequest& request, Clock::time_point now);
// A program failed, no rank was lost, none received a request to end. The same on every supervisor.
bool MayStartAgain(const std::optional<rendezvous::Failure>& failure);

}  // namespace muster::run
