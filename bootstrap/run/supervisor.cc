#include "bootstrap/run/supervisor.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "bootstrap/process/descendants.h"
#include "bootstrap/report/report.h"
#include "bootstrap/run/program_environment.h"
#include "comm/log/log.h"

namespace muster::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A program that drops out of its group is usually on its way to an exit status that says more.
constexpr Duration kExitStatusWithin = milliseconds(500);
constexpr Duration kNoOrphansWithin = seconds(5);
// Whoever signals a whole step or terminal reaches the program and its supervisor in either order.
constexpr Duration kSameSignalWithin = milliseconds(200);

bool OneProcess(const Roster& roster, int a, int b) {
  const auto member = [&](int rank) { return roster.members[static_cast<size_t>(rank)]; };
  return roster.NodeOf(a) == roster.NodeOf(b) && member(a).pid == member(b).pid;
}

}  // namespace

Supervisor::Supervisor(SupervisorPlan plan)
    : plan_(std::move(plan)),
      recorder_({plan_.job_key, plan_.command, plan_.node,
                 plan_.join ? plan_.join->self.agreement.world_size : 1, plan_.config.run.grace,
                 plan_.began}),
      request_(plan_.config.run.grace) {}

Supervisor::~Supervisor() = default;

Result<int> Supervisor::Run() {
  MUSTER_CHECK(CheckExtraVariables(plan_.config.run.env));
  MUSTER_TRY(loop_, net::EventLoop::Create());
  MUSTER_TRY(relay_, process::SignalRelay::Start());
  MUSTER_CHECK(process::BecomeSubreaper());
  programs_ = std::make_unique<Programs>(
      *loop_, plan_, recorder_, [this] { CheckDone(); },
      [this](const RankProgram& program, rendezvous::OutOfMemory oom) { OnProgramEnded(program, oom); });
  MUSTER_CHECK(loop_->Watch(relay_->fd(), EPOLLIN, [this](uint32_t) {
    while (const auto event = relay_->Next()) OnSignal(*event);
  }));
  MUSTER_CHECK(WatchLifeline());
  if (plan_.join) {
    Join();
  } else {
    group_ = GroupOfOne(plan_.node);
    recorder_.Joining();
    recorder_.Formed(group_, nullptr);
    BecomeTeller();
    StartPrograms();
  }
  loop_->RunUntil([this] { return status_.has_value(); }, Deadline::Never());
  programs_->Drain(Deadline::After(kExitStatusWithin));
  Conclude();
  programs_.reset();
  if (const Status gone = process::KillDescendants(Deadline::After(kNoOrphansWithin)); !gone) {
    LogWarning("{}", gone.error().message);
  }
  relay_->KeepBlocked();
  return *status_;
}

std::string Supervisor::Describe(int rank) const { return DescribeRank(group_.roster, rank); }

// ---- forming

void Supervisor::Join() {
  joiner_ = std::make_unique<rendezvous::Joiner>(
      *loop_, *plan_.join, [this](tl::expected<rendezvous::Joined, rendezvous::Failure> joined) {
        // The joiner is still at work on the stack.
        loop_->Post([this] { joiner_.reset(); });
        if (joined) return OnJoined(*std::move(joined));
        OnNotFormed(joined.error());
      });
  recorder_.Joining();
  joiner_->Start();
}

void Supervisor::OnNotFormed(const rendezvous::Failure& failure) {
  recorder_.Failed(failure);
  NoteWhoCame();
  // Whoever was refused alone is not spoken of by the root of a group that it is no part of.
  const std::vector<rendezvous::RankClaim>& own = plan_.join->self.claims;
  const bool about_us = std::ranges::count(own, failure.rank, &rendezvous::RankClaim::rank) > 0;
  const bool tell = !joiner_->failure_was_told() || about_us || TellsApart(failure);
  LogEvent(tell ? LogLevel::kError : LogLevel::kDebug, "not_formed",
           {{"code", CodeName(failure.error.code)}, {"hint", failure.error.hint}}, "{}",
           ToString(failure.error));
  Finish(StatusOf(failure));
}

void Supervisor::NoteWhoCame() {
  if (!joiner_ || joiner_->arrivals() == nullptr) return;
  BecomeTeller();
  recorder_.NotFormed(joiner_->arrivals(), plan_.join->meeting.placement);
}

// Who tells how it went, and writes the report.
void Supervisor::BecomeTeller() {
  root_ = true;
  const auto& report = plan_.config.run.report;
  if (!report) return;
  if (const Status possible = report::CheckReportPath(*report); !possible) {
    LogEvent(LogLevel::kWarning, "report_failed", {{"file", *report}}, "{}", ToString(possible.error()));
  }
}

void Supervisor::OnJoined(rendezvous::Joined joined) {
  group_ = joined.group;
  recorder_.Formed(group_, joiner_->arrivals());
  if (!joined.upstream) {
    BecomeTeller();
    LogEvent(MilestoneLevel(), "formed",
             {{"world_size", group_.roster.size()}, {"nodes", group_.roster.nodes.size()}},
             "the group has formed: {} ranks on {} nodes", group_.roster.size(), group_.roster.nodes.size());
  }
  std::vector<int> own_ranks;
  for (const rendezvous::RankClaim& claim : plan_.join->self.claims) own_ranks.push_back(claim.rank);
  rendezvous::ControlPlane::Events events;
  events.on_failure = [this](const rendezvous::Failure& failure) { OnFailure(failure); };
  events.on_everyone_knows = [this] {
    everyone_knows_ = true;
    CheckDone();
  };
  events.on_released = [this] {
    released_ = true;
    CheckDone();
  };
  events.on_gathered = [this](const rendezvous::KeyedAllGather& whole) { OnGathered(whole); };
  events.whose = [this](const rendezvous::OwnerQuestion& question) { return store_users_->Look(question); };
  store_users_ =
      std::make_unique<store::StoreUsers>(plan_.join->uid, [this] { return programs_->Running(); });
  events.on_ends = [this](const std::vector<rendezvous::RankEnd>& ends) { recorder_.Hear(ends); };
  events.on_ends_told = [this] {
    ends_told_ = true;
    CheckDone();
  };
  events.on_job_end = [this](Deadline latest) {
    if (server_) server_->TellJobEnd(latest);
  };
  reports_ = std::make_unique<ProgramReports>(*loop_, *programs_,
                                              [this](int rank) { return store_users_->HaveCome(rank); });
  events.report_own = [this](const rendezvous::Survey& survey, ProgramReports::Reply reply) {
    reports_->Report(survey, plane_->own_ranks(), server_.get(), std::move(reply));
  };
  plane_ = std::make_unique<rendezvous::ControlPlane>(*loop_, std::move(joined), own_ranks,
                                                      plan_.config.liveness, std::move(events));
  auto server = rendezvous::AdoptionServer::Open(
      *loop_, *plane_, {plan_.join->uid, plan_.configuration, plan_.job_key, plan_.join->shared_directories},
      [this](int rank) { OnProgramLost(rank); });
  if (!server) {
    return Report({server.error(), own_ranks.front(), -1, ""});
  }
  server_ = *std::move(server);
  if (const Status served = ServeStore(); !served) return Report({served.error(), own_ranks.front(), -1, ""});
  StartPrograms();
}

Status Supervisor::ServeStore() {
  if (!plan_.store) return {};
  const auto look = [this](const rendezvous::OwnerQuestion& question) {
    return store_users_->Look(question);
  };
  MUSTER_TRY(store_keeper_,
             store::StoreKeeper::Start({*loop_, *plane_, look, MasterHost(group_.roster), plan_.join->uid},
                                       std::move(*plan_.store)));
  return {};
}

void Supervisor::OnGathered(const rendezvous::KeyedAllGather& whole) {
  if (whole.name == kAllDone && ExpectsFiles()) {
    return IsRoot() ? CheckFiles() : ContributeNothingTo(kFilesAreThere);
  }
  if (whole.name == kAllDone || whole.name == kFilesAreThere) return plane_->Leave();
  recorder_.Initialized();
  server_->Publish(whole);
}

// ---- programs

void Supervisor::StartPrograms() {
  if (ExpectsFiles() && root_) {
    expected_ = std::make_unique<ExpectedFiles>(*loop_, plan_.config.run.expect, group_.roster, plan_.job_key,
                                                plan_.files_before);
  }
  auto failure = programs_->Start(group_, plane_ ? plane_->own_ranks() : std::vector<int>{0},
                                  server_ ? server_->path() : "");
  if (failure) return Report(*std::move(failure));
  if (programs_->list().empty()) OnProgramsDone();
}

void Supervisor::OnProgramsDone() {
  if (!plane_) return ExpectsFiles() ? CheckFiles() : void();
  const bool for_every_rank = plan_.who == WhoRuns::kEveryRank;
  // The store is needed until the last program has ended; the root stays as long by itself.
  const bool store_waits =
      plan_.config.run.store == config::RunStore::kMuster && !OneProcess(group_.roster, group_.root_rank, 0);
  if (for_every_rank && plan_.config.run.report) plane_->SendExitReport(recorder_.own_ends());
  const bool all_wait = !for_every_rank || ExpectsFiles();
  if (!all_wait && !store_waits) return plane_->Leave();
  ContributeNothingTo(kAllDone);
  if (!all_wait && !store_keeper_) plane_->Leave();
}

void Supervisor::ContributeNothingTo(std::string_view exchange) {
  rendezvous::KeyedAllGather part{std::string(exchange), rendezvous::MillisecondsLeft(Deadline::Never()), {}};
  for (const int rank : plane_->own_ranks()) part.entries.emplace_back(rank, Bytes{});
  plane_->Contribute(part);
}

bool Supervisor::ExpectsFiles() const {
  return plan_.who == WhoRuns::kEveryRank && !plan_.config.run.expect.empty();
}

void Supervisor::CheckFiles() {
  expected_->Check([this](const std::optional<Error>& missing) { OnFilesChecked(missing); });
}

void Supervisor::OnFilesChecked(const std::optional<Error>& missing) {
  if (failure_ || reported_) return;
  files_checked_ = true;
  const int status = missing && missing->code == Code::kWorkFailed ? ExitStatus(missing->code) : -1;
  if (missing) return Report({*missing, -1, status, ""});
  if (plane_) return ContributeNothingTo(kFilesAreThere);
  CheckDone();
}

void Supervisor::OnProgramEnded(const RankProgram& program, rendezvous::OutOfMemory out_of_memory) {
  ended_at_ = Clock::now();
  const process::ChildExit& exit = *program.exit();
  if (!exit.ok() && !failure_ && !reported_) {
    // A leave message in the meantime would let this process go with 0.
    reported_ = true;
    const bool may_be_asked =
        !request_.Explains(Clock::now()) && process::AsksToEnd(exit.ShellStatus() - 128);
    const auto report = [this, &program, out_of_memory] { ReportEnd(program, out_of_memory); };
    may_be_asked ? static_cast<void>(loop_->After(kSameSignalWithin, report)) : report();
  }
  if (exit.ok() && lost_.contains(program.rank())) ReportLost(program.rank());
  // Not after a failure of ours that the root has yet to confirm: a leave message would let this process go with 0.
  if (!failure_ && !reported_ && programs_->all_ended()) OnProgramsDone();
  CheckDone();
}

void Supervisor::ReportEnd(const RankProgram& program, rendezvous::OutOfMemory out_of_memory) {
  if (failure_) return;
  const process::ChildExit& exit = *program.exit();
  const Clock::time_point now = Clock::now();
  const process::EndRequest::Verdict verdict = request_.Judge(exit, now);
  const std::string what =
      verdict.by_signal
          ? process::DescribeRequest(*request_.Explains(now), NameUnlessAlone(program.rank()))
          : fmt::format("{} failed: {}", Describe(program.rank()), report::DescribeEnd(exit, out_of_memory));
  Report({{Code::kPeerLost, what, ""},
          program.rank(),
          verdict.exit_status,
          program.TailOfStderr(),
          verdict.as_told});
}

void Supervisor::OnProgramLost(int rank) {
  lost_.insert(rank);
  loop_->After(kExitStatusWithin, [this, rank] { ReportLost(rank); });
}

void Supervisor::ReportLost(int rank) {
  if (failure_ || reported_) return;
  const bool ended = std::ranges::any_of(programs_->list(), [rank](const auto& program) {
    return program->rank() == rank && program->exit().has_value();
  });
  Report({{Code::kPeerLost,
           ended ? fmt::format("{} exited with 0 without leaving its group", Describe(rank))
                 : fmt::format("the program of {} closed its connections without leaving its group",
                               Describe(rank)),
           "muster::Shutdown leaves the group; a crash or an early exit does not"},
          rank,
          -1,
          ""});
}

}  // namespace muster::run
