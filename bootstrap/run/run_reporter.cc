#include "bootstrap/run/run_reporter.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/report/report.h"
#include "bootstrap/report/summary.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"

namespace muster::run {
namespace {

// A file system that does not answer.
constexpr Duration kReportWithin = std::chrono::minutes(1);
constexpr Duration kAfterSignal = std::chrono::seconds(1);

// "rank 1 on gpu01 exited with 80: the time is up, and 12 of 40 items are left (...)"
std::string TimeIsUpLine(const rendezvous::Failure& failure, const std::vector<map::MapState>& maps) {
  const auto map =
      std::ranges::find_if(maps, [](const map::MapState& one) { return one.progress.left() > 0; });
  const std::string left = map == maps.end()
                               ? "work is"
                               : fmt::format("{} of {} items are", map->progress.left(), map->progress.items);
  return fmt::format("{}, and {} left ({})", failure.error.message, left, failure.error.hint);
}

}  // namespace

RunReporter::RunReporter(const SupervisorPlan& plan, RunVerdict& verdict)
    : plan_(plan),
      verdict_(verdict),
      recorder_({plan.job_key, plan.command, plan.node, plan.join ? plan.join->self.agreement.world_size : 1,
                 plan.config.run.grace, plan.began}) {}

void RunReporter::CheckReport(net::EventLoop& loop) {
  if (!plan_.config.run.report) return;
  checker_ = std::make_unique<net::ThreadWorker>(loop.mailbox());
  const auto checked = std::make_shared<Status>();
  checker_->Run([checked, path = *plan_.config.run.report] { *checked = report::CheckReportPath(path); },
                [this, checked] { LogIfFailed(*checked); });
}

void RunReporter::LogIfFailed(const Status& report) const {
  if (report) return;
  LogEvent(LogLevel::kWarning, "report_failed", {{"file", *plan_.config.run.report}}, "{}",
           ToString(report.error()));
}

void RunReporter::NoteArrivals(const rendezvous::Joiner* joiner) {
  if (joiner == nullptr || joiner->arrivals() == nullptr) return;
  verdict_.BecomeRoot();
  recorder_.NotFormed(joiner->arrivals(), joiner->placement());
}

void RunReporter::Formed(net::EventLoop& loop, const rendezvous::Arrivals* arrivals, bool is_root) {
  const rendezvous::FormedGroup& group = verdict_.place().group;
  recorder_.Formed(group, arrivals);
  if (!is_root) return;
  // It logs the end, and writes the report.
  verdict_.BecomeRoot();
  CheckReport(loop);
  if (verdict_.facts().alone) return;
  LogEvent(MilestoneLevel(), "formed",
           {{"world_size", group.roster.size()}, {"nodes", group.roster.nodes.size()}},
           "the group has formed: {} ranks on {} nodes", group.roster.size(), group.roster.nodes.size());
}

void RunReporter::NotFormed(const rendezvous::Failure& failure, const rendezvous::Joiner& joiner) {
  recorder_.Failed(failure);
  NoteArrivals(&joiner);
  // The root of a group does not log a rank that was refused alone: it is no part of that group.
  const std::vector<rendezvous::RankClaim>& own = plan_.join->self.claims;
  const bool about_us = std::ranges::count(own, failure.rank, &rendezvous::RankClaim::rank) > 0;
  const bool log = !joiner.failure_is_from_parent() || about_us || LogsApart(failure, LogFileNumber());
  LogEvent(log ? LogLevel::kError : LogLevel::kDebug, "not_formed",
           {{"code", CodeName(failure.error.code)}, {"hint", failure.error.hint}}, "{}",
           ToString(failure.error));
}

void RunReporter::Interrupted(int signal, const rendezvous::Joiner* joiner) {
  NoteArrivals(joiner);
  // All ranks receive the signal; the root logs it.
  LogEvent(verdict_.place().is_root ? LogLevel::kWarning : LogLevel::kDebug, "signalled",
           {{"signal", signal}}, "ended by signal {} {}", signal,
           joiner != nullptr ? "while the group was forming" : "before the program was started");
}

void RunReporter::Failed(const rendezvous::Failure& failure, bool received,
                         const std::vector<map::MapState>& maps) {
  const FailureLog log = LogOf(verdict_.place(), failure, received, LogFileNumber());
  if (TimeIsUp(failure)) {
    LogEvent(log == FailureLog::kSilent ? LogLevel::kDebug : LogLevel::kInfo, "time_is_up",
             {{"rank", failure.rank}, {"exit_status", StatusOf(failure)}}, "{}",
             log == FailureLog::kApart ? FailureLine(verdict_.place(), failure, log)
                                       : TimeIsUpLine(failure, maps));
    return;
  }
  LogEvent(log == FailureLog::kSilent ? LogLevel::kDebug : LogLevel::kError, "failed",
           {{"rank", failure.rank},
            {"code", CodeName(failure.error.code)},
            {"exit_status", StatusOf(failure)},
            {"hint", failure.error.hint}},
           "{}", FailureLine(verdict_.place(), failure, log));
}

bool RunReporter::NoteLoss(const std::string& failure) {
  if (failure.empty()) return false;
  recorder_.Failed({{Code::kSystem, failure}});
  return true;
}

void RunReporter::Conclude(const std::function<bool(int)>& has_left, std::vector<map::MapState> maps) {
  // For one program of all ranks its own output and the line of its failure are enough.
  if (!verdict_.place().is_root || plan_.who != WhoRuns::kEveryRank) return;
  const report::RunRecord record = recorder_.Finish(*verdict_.status(), has_left, std::move(maps));
  if (LogsSummary(verdict_.facts(), verdict_.failure(), verdict_.request(), Clock::now())) {
    LogLine(LogLevel::kError, "summary", report::SummaryFields(record), report::SummaryText(record));
  }
  LogEvent(MilestoneLevel(), "ended", {{"exit_status", record.exit_status}, {"seconds", record.ended}},
           "the run has ended after {} with {}", report::FormatSpan(record.ended), record.exit_status);
  if (plan_.config.run.report) concluded_ = record;
}

void RunReporter::WriteReport(process::SignalRelay& relay,
                              const std::function<bool(const process::SignalEvent&)>& take) {
  if (!concluded_) return;
  const auto loop = net::EventLoop::Create();
  if (!loop) return LogIfFailed(tl::unexpected(loop.error()));
  struct Job {
    std::string path;
    report::RunRecord record;
    std::string version;
    Status written;
  };
  const auto job =
      std::make_shared<Job>(Job{*plan_.config.run.report, *std::move(concluded_), plan_.version, {}});
  bool done = false;
  std::string late;  // why it is not waited for
  net::ThreadWorker worker((*loop)->mailbox());
  worker.Run([job] { job->written = report::WriteReport(job->path, job->record, job->version); },
             [&] { done = true; });
  const Duration within = verdict_.noted().waits_end ? kAfterSignal : kReportWithin;
  (*loop)->After(within, [&] { late = "within " + FormatDuration(within); });
  const Status watched = (*loop)->Watch(relay.fd(), EPOLLIN, [&](uint32_t) {
    while (const auto event = relay.Next()) {
      if (!take(*event)) continue;
      (*loop)->After(kAfterSignal,
                     [&late, number = event->number] { late = "before " + process::SignalName(number); });
    }
  });
  LogIfFailed(watched);
  (*loop)->RunUntil([&] { return done || !late.empty(); }, Deadline::Never());
  if (done) return LogIfFailed(job->written);
  LogIfFailed(WithHint(Fail(Code::kDeadline, "cannot write the report {}: not written {}", job->path, late),
                       "check the file system: it does not answer"));
}

}  // namespace muster::run
