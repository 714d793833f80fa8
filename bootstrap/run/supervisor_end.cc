// How a run ends: who is told what, in which order, and what is written down.
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bootstrap/process/orphans.h"
#include "bootstrap/report/report.h"
#include "bootstrap/report/summary.h"
#include "bootstrap/run/supervisor.h"
#include "comm/log/log.h"

namespace muster::run {
namespace {

using std::chrono::seconds;

// The group's word that every rank knows comes in milliseconds, or not at all.
constexpr Duration kEveryoneKnowsWithin = seconds(10);
// Beyond run.grace, for the word of how the programs below ended; the root waits for the leaders' as well.
constexpr Duration kEndsWithin = seconds(2);
constexpr Duration kAllEndsWithin = seconds(4);
constexpr Duration kGoneWithin = std::chrono::milliseconds(100);

}  // namespace

int Supervisor::StatusOf(const rendezvous::Failure& failure) {
  return failure.exit_status > 0 ? failure.exit_status : ExitStatus(failure.error.code);
}

void Supervisor::Report(rendezvous::Failure failure) {
  reported_ = true;
  if (plane_) return plane_->Fail(std::move(failure));
  everyone_knows_ = true;
  OnFailure(failure);
}

void Supervisor::OnFailure(const rendezvous::Failure& failure) {
  if (failure_) return;
  failure_ = failure;
  recorder_.Failed(failure);
  const bool tells = TellsOfFailure();
  const bool apart = !tells && TellsApart(failure);
  LogEvent(tells || apart ? LogLevel::kError : LogLevel::kDebug, "failed",
           {{"rank", failure.rank},
            {"code", CodeName(failure.error.code)},
            {"exit_status", StatusOf(failure)},
            {"hint", failure.error.hint}},
           "{}{}", Reason(failure, apart),
           apart ? fmt::format("{}; {} tells more", failure.error.message, Describe(group_.root_rank))
                 : ToString(failure.error));
  ClearNodeOf(failure);
  if (server_) server_->Announce(failure);
  if (plan_.config.run.stop_on_failure) EndPrograms();
  CheckDone();
}

std::string_view Supervisor::Reason(const rendezvous::Failure& failure, bool apart) const {
  if (!apart || IsOwn(failure.rank)) return "";
  // "interrupted: rank 3 on gpu02 received SIGINT"
  return failure.as_told ? "ending: " : "ending because ";
}

// The root does. Where it can no longer be heard, whoever is first on its node speaks; of a thousand nodes
// three, far from each other, so that the loss of a rack leaves somebody.
bool Supervisor::TellsOfFailure() const {
  if (!plane_ || plane_->is_root()) return true;
  if (plane_->failure_was_told()) return false;
  const Roster& roster = group_.roster;
  const int own_rank = plane_->own_ranks().front();
  const int own_node = roster.NodeOf(own_rank);
  std::vector<int> ranks = roster.RanksOn(own_node);
  std::erase(ranks, failure_->rank);
  if (ranks.empty() || ranks.front() != own_rank) return false;
  const int root_node = roster.NodeOf(group_.root_rank);
  if (own_node == root_node) return true;
  // This node is cut off: nobody can say so for it.
  if (failure_->rank < 0) return true;
  // Only its own leader is lost.
  const bool known = failure_->rank >= 0 && failure_->rank < roster.size();
  if (known && roster.NodeOf(failure_->rank) == own_node) return false;
  const auto others = static_cast<int>(roster.nodes.size()) - 1;
  const int own = own_node < root_node ? own_node : own_node - 1;
  return own == 0 || own == others / 2 || own == others - 1;
}

bool Supervisor::IsOwn(int rank) const { return plane_ && std::ranges::count(plane_->own_ranks(), rank) > 0; }

// Each rank may have a log file of its own (srun -o out-%t): it says there in one line why it ends. Of a pipe
// or a terminal nobody knows whether it is the root's as well.
bool Supervisor::TellsApart(const rendezvous::Failure& failure) {
  const uint64_t own = LogFileNumber();
  return own != 0 && own != failure.told_in;
}

// A killed supervisor takes its program with it, but not what the program had started. One of its node's
// survivors sees to that, once it is gone: one that lives ends its program as all others do (muster_abandon).
void Supervisor::ClearNodeOf(const rendezvous::Failure& failure) {
  const Roster& roster = group_.roster;
  const bool without_status = failure.error.code == Code::kPeerLost && failure.exit_status < 0;
  if (!plane_ || !without_status || failure.rank < 0 || failure.rank >= roster.size()) return;
  const int own_rank = plane_->own_ranks().front();
  if (roster.NodeOf(own_rank) != roster.NodeOf(failure.rank)) return;
  std::vector<int> survivors = roster.RanksOn(roster.NodeOf(own_rank));
  std::erase(survivors, failure.rank);
  if (survivors.empty() || survivors.front() != own_rank) return;
  const pid_t lost = roster.members[static_cast<size_t>(failure.rank)].pid;
  if (lost == getpid()) return;
  lost_supervisor_ = std::make_unique<net::ProcessWatch>(*loop_, lost, [this] { ClearOrphans(); });
}

void Supervisor::ClearOrphans() {
  lost_supervisor_.reset();
  process::KillProcessesOfRank(group_.roster.group_id, failure_->rank);
}

void Supervisor::EndPrograms() {
  // A second SIGTERM means "immediately" to many programs.
  const bool just_asked = JustTerminated();
  bool running = false;
  for (const auto& program : programs_->list()) {
    if (program->exit()) continue;
    recorder_.Terminated(program->rank());
    if (!just_asked) program->Signal(SIGTERM);
    running = true;
  }
  if (!running) return;
  kill_timer_ = loop_->After(plan_.config.run.grace, [this] {
    for (const auto& program : programs_->list()) {
      if (program->exit()) continue;
      LogEvent(LogLevel::kWarning, "killed", {{"rank", program->rank()}, {"grace", plan_.config.run.grace}},
               "rank {} has not ended within run.grace; killing it", program->rank());
      recorder_.Killed(program->rank());
      program->Signal(SIGKILL);
    }
  });
}

void Supervisor::CheckDone() {
  if (status_ || !programs_->all_ended()) return;
  if (failure_) return FinishFailed();
  // One of our own is still on its way.
  if (reported_) return;
  const bool done = plane_ ? released_ : !ExpectsFiles() || files_checked_;
  if (done && programs_->written()) Finish(0);
}

// Not before all know; then the root is told how the programs ended.
void Supervisor::FinishFailed() {
  if (!everyone_knows_) {
    if (last_timer_ != 0) return;
    last_timer_ = loop_->After(kEveryoneKnowsWithin, [this] {
      everyone_knows_ = true;
      CheckDone();
    });
    return;
  }
  if (!plane_ || ends_told_) return Finish(StatusOf(*failure_));
  if (std::exchange(finishing_, true)) return;
  plane_->FinishEnds(recorder_.own_ends(), plan_.config.run.grace + (root_ ? kAllEndsWithin : kEndsWithin));
}

// What is told when all is over.
void Supervisor::Conclude() {
  // Its connections close a moment before it counts as ended.
  if (lost_supervisor_ && lost_supervisor_->end().Await(Deadline::After(kGoneWithin))) ClearOrphans();
  // Of one program for all ranks its own words and the line are enough.
  if (!root_ || plan_.who != WhoRuns::kEveryRank) return;
  const report::RunRecord record =
      recorder_.Finish(*status_, [this](int rank) { return plane_ && plane_->HasLeft(rank); });
  if (failure_ && plane_ && !failure_->as_told && !request_.Explains(Clock::now())) {
    LogLine(LogLevel::kError, "summary", report::SummaryFields(record), report::SummaryText(record));
  }
  LogEvent(MilestoneLevel(), "ended", {{"exit_status", record.exit_status}, {"seconds", record.ended}},
           "the run has ended after {} with {}", report::FormatSpan(record.ended), record.exit_status);
  if (!plan_.config.run.report) return;
  if (const Status written = report::WriteReport(*plan_.config.run.report, record, plan_.version); !written) {
    LogEvent(LogLevel::kWarning, "report_failed", {{"file", *plan_.config.run.report}}, "{}",
             ToString(written.error()));
  }
}

void Supervisor::Finish(int status) {
  if (!status_) status_ = status;
}

}  // namespace muster::run
