#include "bootstrap/run/run_verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "bootstrap/report/run_recorder.h"

namespace muster::run {
namespace {

// What Slurm tells all ranks at once is one request.
constexpr Duration kOneRequest = std::chrono::seconds(1);

bool OneProcess(const Roster& roster, int a, int b) {
  const auto member = [&](int rank) { return roster.members[static_cast<size_t>(rank)]; };
  return roster.NodeOf(a) == roster.NodeOf(b) && member(a).pid == member(b).pid;
}

}  // namespace

int StatusOf(const rendezvous::Failure& failure) {
  return failure.exit_status > 0 ? failure.exit_status : ExitStatus(failure.error.code);
}

bool LogsApart(const rendezvous::Failure& failure, uint64_t own_log) {
  return own_log != 0 && own_log != failure.told_in;
}

// ---- facts

void RunVerdict::Formed(rendezvous::FormedGroup group, std::vector<int> own_ranks) {
  group_ = std::move(group);
  own_ranks_ = std::move(own_ranks);
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
  const bool failed = !exit.ok() || lost_.contains(program.rank);
  // A leave message after a reported failure would let this process go with 0.
  if (!may_report()) {
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

RunSteps RunVerdict::Excuse(int rank, bool all_ended) {
  if (!excused_.insert(rank).second) return {};
  reported_ = false;
  failed_program_.reset();
  std::erase_if(failed_meanwhile_, [this](const EndedProgram& program) { return IsExcused(program.rank); });
  if (failed_meanwhile_.empty()) return all_ended ? ProgramsDone() : RunSteps{};
  reported_ = true;
  failed_program_ = failed_meanwhile_.front();
  return {RunStep::kReport};
}

RunSteps RunVerdict::SignalledAfterPrograms(int number, Clock::time_point now) const {
  // It asks programs for a thread dump, and this process has none.
  if (number == SIGQUIT) return {};
  // Only the report of how other programs ended is still waited for.
  if (sends_ends_) return {RunStep::kFinishSoon};
  // The program itself got this very signal and ended well.
  if (now - ended_at_ < kOneRequest) return {};
  return {RunStep::kReportSignal};
}

RunSteps RunVerdict::ProgramsDone() const {
  if (facts_.alone) return facts_.expects_files ? RunSteps{RunStep::kCheckFiles} : RunSteps{};
  RunSteps steps;
  if (facts_.for_every_rank && facts_.writes_report) steps.push_back(RunStep::kSendExitReport);
  // The store is needed until the last program has ended; the root stays as long by itself.
  const bool store_waits = facts_.muster_store && !OneProcess(group_.roster, group_.root_rank, 0);
  const bool all_wait = !facts_.for_every_rank || facts_.expects_files;
  if (all_wait || store_waits) steps.push_back(RunStep::kGatherAllDone);
  if (!all_wait && !(store_waits && facts_.keeps_store)) steps.push_back(RunStep::kLeave);
  return steps;
}

RunSteps RunVerdict::Gathered(std::string_view exchange) const {
  if (exchange == kAllDone && facts_.expects_files) {
    return {root_ ? RunStep::kCheckFiles : RunStep::kGatherFiles};
  }
  return exchange == kAllDone || exchange == kFilesAreThere ? RunSteps{RunStep::kLeave} : RunSteps{};
}

RunSteps RunVerdict::FilesFound() {
  files_found_ = true;
  return facts_.alone ? RunSteps{} : RunSteps{RunStep::kGatherFiles};
}

RunSteps RunVerdict::Next(bool all_ended, bool written) {
  if (status_ || !all_ended) return {};
  if (failure_) {
    // Not before all know; then the root receives how the programs ended.
    if (!everyone_knows_) {
      return std::exchange(awaits_everyone_, true) ? RunSteps{} : RunSteps{RunStep::kAwaitEveryoneKnows};
    }
    if (facts_.alone || ends_received_) return {RunStep::kFinish};
    return std::exchange(sends_ends_, true) ? RunSteps{} : RunSteps{RunStep::kSendEnds};
  }
  // A failure of this process is still on its way.
  if (reported_) return {};
  const bool done = facts_.alone ? !facts_.expects_files || files_found_ : released_;
  return done && written ? RunSteps{RunStep::kFinish} : RunSteps{};
}

// ---- failures of this process

// Empty if this process starts all ranks: all of them were told to end.
std::string RunVerdict::DescribeUnlessAlone(int rank) const {
  const bool alone = facts_.alone || std::cmp_equal(own_ranks_.size(), group_.roster.size());
  return alone ? "" : Describe(rank);
}

rendezvous::Failure RunVerdict::OfProgram(std::string stderr_tail, Clock::time_point now) const {
  const auto& [rank, exit, out_of_memory] = *failed_program_;
  if (exit.ok()) return OfLost(rank, true);
  const process::EndRequest::Verdict verdict = request_.Judge(exit, now);
  std::string what =
      verdict.by_signal
          ? process::DescribeRequest(*request_.Explains(now), DescribeUnlessAlone(rank))
          : fmt::format("{} failed: {}", Describe(rank), report::DescribeEnd(exit, out_of_memory));
  return {{Code::kPeerLost, std::move(what), ""},
          rank,
          verdict.exit_status,
          std::move(stderr_tail),
          verdict.as_told};
}

rendezvous::Failure RunVerdict::OfLost(int rank, bool exited) const {
  return {{Code::kPeerLost,
           exited ? fmt::format("{} exited with 0 without leaving its group", Describe(rank))
                  : fmt::format("the program of {} closed its connections without leaving its group",
                                Describe(rank)),
           "muster::Shutdown leaves the group; a crash or an early exit does not"},
          rank,
          -1,
          ""};
}

rendezvous::Failure RunVerdict::OfSignal(Clock::time_point now) const {
  const int number = *request_.Explains(now);
  const int rank = own_ranks_.front();
  return {{Code::kPeerLost, process::DescribeRequest(number, DescribeUnlessAlone(rank)), ""},
          rank,
          128 + number,
          "",
          /*as_told=*/true};
}

// Missing files count as an exit status: the group may start again. A file system that does not answer has
// none.
rendezvous::Failure RunVerdict::OfFiles(const Error& missing) {
  return {missing, -1, missing.code == Code::kWorkFailed ? ExitStatus(missing.code) : -1, ""};
}

std::optional<Error> RunVerdict::ToldToEnd(Clock::time_point now) const {
  const std::optional<int> signal = request_.Explains(now);
  if (!signal) return std::nullopt;
  return Error{Code::kPeerLost, process::DescribeRequest(*signal, Describe(own_ranks_.front())), ""};
}

bool RunVerdict::JustTerminated(Clock::time_point now) const {
  return request_.terminated() || (request_.Explains(now) == SIGTERM && request_.Age(now) < kOneRequest);
}

// ---- the group's failure

FailureLog RunVerdict::LogOf(bool received, uint64_t own_log) const {
  if (root_ || (!received && IsFirstReporter())) return FailureLog::kFull;
  return LogsApart(*failure_, own_log) ? FailureLog::kApart : FailureLog::kSilent;
}

std::string RunVerdict::FailureLine(FailureLog log) const {
  if (log != FailureLog::kApart) return ToString(failure_->error);
  // "interrupted: rank 3 on gpu02 received SIGINT"
  std::string_view reason = failure_->as_told ? "ending: " : "ending because ";
  if (std::ranges::count(own_ranks_, failure_->rank) > 0) reason = "";
  return fmt::format("{}{}; the log of {} has the cause", reason, failure_->error.message,
                     Describe(group_.root_rank));
}

bool RunVerdict::LogsSummary(Clock::time_point now) const {
  return failure_ && !facts_.alone && !failure_->as_told && !request_.Explains(now);
}

// This process has the first rank of its node, the failed one apart.
bool RunVerdict::LeadsRest() const {
  std::vector<int> ranks = group_.roster.RanksOn(group_.roster.NodeOf(own_ranks_.front()));
  std::erase(ranks, failure_->rank);
  return !ranks.empty() && ranks.front() == own_ranks_.front();
}

// The root can no longer be heard. Of a thousand nodes the first ranks of three, far from each other, log the
// failure: the loss of a rack leaves one of them.
bool RunVerdict::IsFirstReporter() const {
  const Roster& roster = group_.roster;
  if (!LeadsRest()) return false;
  const int own_node = roster.NodeOf(own_ranks_.front());
  const int root_node = roster.NodeOf(group_.root_rank);
  if (own_node == root_node) return true;
  // This node is cut off: no other one can log it.
  if (failure_->rank < 0) return true;
  // Only its own leader is lost.
  if (failure_->rank < roster.size() && roster.NodeOf(failure_->rank) == own_node) return false;
  const auto others = static_cast<int>(roster.nodes.size()) - 1;
  const int own = own_node < root_node ? own_node : own_node - 1;
  return own == 0 || own == others / 2 || own == others - 1;
}

// A killed supervisor takes its program with it, but not the processes that the program started. One that
// lives ends its program as all supervisors do (muster_abandon).
std::optional<pid_t> RunVerdict::LostSupervisor(pid_t self) const {
  const Roster& roster = group_.roster;
  const int rank = failure_->rank;
  const bool without_status = failure_->error.code == Code::kPeerLost && failure_->exit_status < 0;
  if (facts_.alone || !without_status || rank < 0 || rank >= roster.size()) return std::nullopt;
  if (roster.NodeOf(own_ranks_.front()) != roster.NodeOf(rank) || !LeadsRest()) return std::nullopt;
  const pid_t lost = roster.members[static_cast<size_t>(rank)].pid;
  return lost == self ? std::nullopt : std::optional(lost);
}

}  // namespace muster::run
