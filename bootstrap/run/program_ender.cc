#include "bootstrap/run/program_ender.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "bootstrap/process/descendants.h"
#include "bootstrap/process/signal_reach.h"
#include "comm/base/lists.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/rendezvous/survey/process_state.h"

namespace muster::run {
namespace {

// How long other nodes may take to answer which of their programs still run.
constexpr Duration kAnswersWithin = std::chrono::seconds(1);
// A scheduler signals all processes of a step within this time.
constexpr Duration kSignalWithin = std::chrono::seconds(1);
constexpr Duration kGoneWithin = std::chrono::milliseconds(100);

// " (state D, nfs_wait_on_request)"
std::string DescribeState(const std::optional<rendezvous::ProcessState>& process) {
  if (!process) return "";
  return fmt::format(" (state {}{}{})", process->state, process->where.empty() ? "" : ", ", process->where);
}

}  // namespace

Held DescribeHeld(const std::optional<rendezvous::ProcessState>& process, bool may_signal) {
  const std::string state = DescribeState(process);
  if (!may_signal) {
    return {"the kernel refused the signal, because the process has another user" + state,
            "end it as that user; sudo and set-user-ID programs change the user"};
  }
  // Z: its main thread has ended, and another one has not.
  const bool by_kernel = process && std::string_view("DZX").find(process->state) != std::string_view::npos;
  if (by_kernel) {
    return {"the kernel holds it" + state, "check the file systems and the devices of that node"};
  }
  return {"SIGKILL did not end it" + state, "check whether a debugger holds it"};
}

process::EndStep ProgramEnder::Request(const process::SignalEvent& event) {
  // Only a user at the terminal, not a launcher, is certain to wait for the end.
  const bool interactive = event.from_kernel && event.number != SIGQUIT;
  const bool escalates = plan_.ends_programs ? !process::FromScheduler(event) : interactive;
  return verdict_.request().Take({event.number, event.sender, event.from_kernel, escalates}, Clock::now());
}

void ProgramEnder::Take(process::EndStep step, const process::SignalEvent* event) {
  const auto because = [&] {
    return event != nullptr
               ? fmt::format("{} again", process::SignalName(event->number))
               : fmt::format("no exit within run.grace ({})", FormatDuration(plan_.config.run.grace));
  };
  switch (step) {
    case process::EndStep::kNothing:
      break;
    case process::EndStep::kPassOn:
      PassOn(*event);
      break;
    case process::EndStep::kReport:
      ReportWaiting();
      break;
    case process::EndStep::kTerminate:
      Send(SIGTERM, because());
      break;
    case process::EndStep::kKill:
      Send(SIGKILL, because());
      break;
  }
  const int wait = verdict_.request().wait_number();
  if (std::exchange(awaited_, wait) == wait) return;
  request_timer_ =
      loop_.After(plan_.config.run.grace, [this] { Take(verdict_.request().OnGraceOver(), nullptr); });
}

void ProgramEnder::PassOn(const process::SignalEvent& event) {
  // A second SIGTERM means "immediately" to many programs.
  if (event.number == SIGTERM && kill_timer_) {
    // It has come late, and decides from now on.
    if (HowRestEnds(*verdict_.failure(), verdict_.request(), Clock::now()) == RestEnds::kBySender) {
      kill_timer_->Cancel();
      EndRest();
    }
    return;
  }
  const auto task = plan_.environment.find("SLURM_TASK_PID");
  const bool is_task = task != plan_.environment.end() && task->second == std::to_string(getpid());
  if (!process::ReachedProgram(event, plan_.own_process_groups, is_task)) programs_.Signal(event.number);
}

void ProgramEnder::Send(int number, std::string_view because) {
  const std::vector<int> ranks = programs_.RunningRanks();
  if (ranks.empty() || (number == SIGTERM && kill_timer_)) return;
  if (number == SIGKILL) {
    Kill();
  } else {
    for (const int rank : ranks) recorder_.Terminated(rank);
    programs_.Signal(number);
  }
  LogEvent(LogLevel::kWarning, "not_exited", {{"ranks", ranks}, {"sent", process::SignalName(number)}},
           "waiting for {} to exit; {}: {} sent", NameRanks(ranks), because, process::SignalName(number));
}

std::string ProgramEnder::NameRanks(const std::vector<int>& ranks) const {
  return ranks.size() == 1 ? verdict_.place().Describe(ranks.front()) : FormatRanks(ranks);
}

// Once in the log, for all ranks of the group.
void ProgramEnder::ReportWaiting() {
  if (!verdict_.place().is_root) return;
  const auto log = [this, signal = verdict_.request().signal()](const std::vector<int>& ranks) {
    if (ranks.empty()) return;
    LogEvent(LogLevel::kWarning, "not_exited", {{"ranks", ranks}},
             "waiting for {} to exit; no exit within run.grace ({}) of {}", NameRanks(ranks),
             FormatDuration(plan_.config.run.grace), process::SignalName(signal));
  };
  if (plane_ == nullptr) return log({0});
  plane_->survey().AskAll(kAnswersWithin, [log](const rendezvous::Surveyed& answer) {
    std::vector<int> ranks;
    for (const rendezvous::RankReport& report : answer.reports) {
      const bool runs = report.state == rendezvous::RankState::kProgram ||
                        report.state == rendezvous::RankState::kOwnGroup ||
                        report.state == rendezvous::RankState::kInGroup;
      if (runs && report.process.pid != 0) ranks.push_back(report.rank);
    }
    std::ranges::sort(ranks);
    log(ranks);
  });
}

void ProgramEnder::EndRest() {
  const Clock::time_point now = Clock::now();
  rest_timer_.Cancel();
  switch (HowRestEnds(*verdict_.failure(), verdict_.request(), now)) {
    case RestEnds::kNow:
      return EndAll();
    case RestEnds::kSoon:
      rest_timer_ = loop_.After(kSignalWithin, [this] {
        HowRestEnds(*verdict_.failure(), verdict_.request(), Clock::now()) == RestEnds::kBySender ? EndRest()
                                                                                                  : EndAll();
      });
      return;
    case RestEnds::kAfterGrace:
      rest_timer_ = loop_.After(plan_.config.run.grace, [this] { EndAll(); });
      return;
    case RestEnds::kBySender:
      // Beyond that moment.
      rest_timer_ =
          loop_.After(SenderEndsWithin(*verdict_.failure(), verdict_.request(), now) + kSignalWithin,
                      [this] { EndRest(); });
      return;
  }
}

void ProgramEnder::EndAll() {
  const std::vector<int> ranks = programs_.RunningRanks();
  if (ranks.empty()) return;
  for (const int rank : ranks) recorder_.Terminated(rank);
  if (!verdict_.request().JustTerminated(Clock::now())) programs_.Signal(SIGTERM);
  kill_timer_ = loop_.After(plan_.config.run.grace, [this] {
    for (const int rank : programs_.RunningRanks()) {
      LogEvent(LogLevel::kWarning, "killed", {{"rank", rank}, {"grace", plan_.config.run.grace}},
               "{} has not exited within run.grace ({}): SIGKILL sent", verdict_.place().Describe(rank),
               FormatDuration(plan_.config.run.grace));
    }
    Kill();
  });
}

void ProgramEnder::Kill() {
  for (const int rank : programs_.RunningRanks()) recorder_.Killed(rank);
  programs_.Signal(SIGKILL);
  held_timer_ = loop_.After(kKilledEndWithin, [this] {
    for (const auto& [rank, pid] : programs_.Running()) {
      const bool may_signal = kill(pid, 0) == 0 || errno != EPERM;
      const Held held = DescribeHeld(rendezvous::LookAtProcess(pid), may_signal);
      LogEvent(LogLevel::kError, "held", {{"rank", rank}, {"pid", pid}},
               "{}: process {} still runs {} after SIGKILL: {}; the run ends without it ({})",
               verdict_.place().Describe(rank), pid, FormatDuration(kKilledEndWithin), held.reason,
               held.remedy);
    }
    programs_.GiveUp();
  });
}

void ProgramEnder::EndOrphans() {
  const auto lost = LostSupervisor(verdict_.place(), *verdict_.failure(), getpid());
  if (lost) lost_supervisor_ = std::make_unique<net::ProcessWatch>(loop_, *lost, [this] { KillOrphans(); });
}

void ProgramEnder::EndLastOrphans() {
  if (lost_supervisor_ && lost_supervisor_->end().Await(Deadline::After(kGoneWithin))) KillOrphans();
}

void ProgramEnder::KillOrphans() {
  lost_supervisor_.reset();
  process::KillProcessesOfRank(verdict_.place().group.roster.group_id, verdict_.failure()->rank);
}

}  // namespace muster::run
