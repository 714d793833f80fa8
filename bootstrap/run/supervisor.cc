#include "bootstrap/run/supervisor.h"

#include <algorithm>
#include <utility>

#include "bootstrap/process/descendants.h"
#include "bootstrap/run/program/program_environment.h"
#include "comm/log/log.h"
#include "comm/system/descriptor_room.h"

namespace muster::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kNoOrphansWithin = seconds(5);
// The group's confirmation to every rank comes in milliseconds, or not at all.
constexpr Duration kAllKnowWithin = seconds(10);
constexpr Duration kFinishSoon = seconds(1);
// A server that a program left in the background does not end by itself.
constexpr Duration kLeftBehindWithin = milliseconds(500);

RunFacts FactsOf(const SupervisorPlan& plan) {
  const config::RunOptions& run = plan.config.run;
  const bool for_every_rank = plan.who == WhoRuns::kEveryRank;
  return {.grace = run.grace,
          .alone = !plan.join,
          .for_every_rank = for_every_rank,
          .expects_files = for_every_rank && !run.expect.empty(),
          .writes_report = run.report.has_value(),
          .may_restart = plan.restarts < plan.max_restarts,
          .muster_store = run.store == config::RunStore::kMuster,
          .keeps_store = plan.store != nullptr};
}

// The leader of rank 0 or of the first node, unless another process of that node was faster.
bool IsLikelyRoot(const rendezvous::JoinRequest& request) {
  const auto& nodes = request.meeting.placement.nodes;
  const bool first = !nodes.empty() && nodes.front().name == request.self.node;
  return std::ranges::any_of(request.self.claims, [first](const rendezvous::RankClaim& claim) {
    return claim.rank == 0 || (first && claim.local_rank == 0);
  });
}

}  // namespace

Supervisor::Supervisor(SupervisorPlan plan)
    : plan_(std::move(plan)), verdict_(FactsOf(plan_)), reporter_(plan_, verdict_) {}

Supervisor::~Supervisor() = default;

Result<int> Supervisor::Run() {
  MUSTER_CHECK(CheckExtraVariables(plan_.config.run.env));
  MUSTER_TRY(loop_, net::EventLoop::Create());
  using Tstp = process::SignalRelay::Tstp;
  MUSTER_TRY(auto relay,
             process::SignalRelay::Start(plan_.own_process_groups ? Tstp::kTaken : Tstp::kDefault));
  // Later children are left behind by a group that has failed: they are not spared.
  if (plan_.restarts == 0) MUSTER_CHECK(process::BecomeSubreaper());
  // For pipes, files and connections of each rank. If this fails, the start of a program reports the limit.
  static_cast<void>(RaiseDescriptorLimit());
  programs_ = std::make_unique<Programs>(
      *loop_, plan_, reporter_.recorder(),
      [this] {
        output_->OnIdle();
        CheckDone();
      },
      [this](const EndedProgram& program) {
        Advance(verdict_.ProgramEnded(program, programs_->all_ended(), Clock::now()));
      });
  ender_ = std::make_unique<ProgramEnder>(*loop_, plan_, verdict_, *programs_, reporter_.recorder());
  failures_ = std::make_unique<OwnFailureReporter>(
      *loop_, verdict_, *programs_,
      OwnFailureReporter::Events{[this](const rendezvous::Failure& failure) { OnFailure(failure); },
                                 [this](const RunSteps& steps) { Advance(steps); }});
  output_ = std::make_unique<LastOutput>(*loop_, verdict_, reporter_, *programs_);
  signals_ =
      std::make_unique<RunSignals>(*loop_, plan_, verdict_, *programs_, *ender_, std::move(relay),
                                   RunSignals::Events{[this](int number) { OnInterrupted(number); },
                                                      [this](const RunSteps& steps) { Advance(steps); }});
  MUSTER_CHECK(signals_->Watch());
  reporter_.recorder().Joining();
  if (verdict_.facts().expects_files)
    expected_ = std::make_unique<ExpectedFiles>(*loop_, plan_.config.run.expect, plan_.files_before);
  if (plan_.join) {
    Join();
  } else {
    verdict_.Formed(GroupOfOne(plan_.node), {0});
    reporter_.Formed(*loop_, nullptr, true);
    StartPrograms();
  }
  loop_->RunUntil([this] { return verdict_.status().has_value(); }, Deadline::Never());
  // Ranks that it has left to the root wait for the end of their connections.
  joiner_.reset();
  output_->LogFailure();
  programs_->losses().Report();
  ender_->EndLastOrphans();
  reporter_.Conclude([this](int rank) { return plane_ && plane_->HasLeft(rank); },
                     plane_ ? plane_->maps().LookAtAll() : std::vector<map::MapState>());
  ender_.reset();
  programs_.reset();
  if (const Status gone = process::KillDescendants(Deadline::After(kNoOrphansWithin)); !gone)
    LogWarning("{}", gone.error().message);
  // No rank waits for this process now.
  reporter_.WriteReport(signals_->relay(), [this](const auto& event) { return signals_->TakeAtEnd(event); });
  output_->WriteLines(*signals_);
  signals_->relay().KeepBlocked();
  return *verdict_.status();
}

// ---- forming

void Supervisor::Join() {
  if (!expected_ || !IsLikelyRoot(*plan_.join)) return StartJoiner();
  expected_->LookBefore([this](const std::optional<Error>& late) {
    if (late) plan_.join->self.refused = *late;
    StartJoiner();
  });
}

void Supervisor::StartJoiner() {
  joiner_ = std::make_unique<rendezvous::Joiner>(
      *loop_, *plan_.join, [this](tl::expected<rendezvous::Joined, rendezvous::Failure> joined) {
        // The joiner is still at work on the stack.
        loop_->Post([this] { joiner_.reset(); });
        if (joined) return OnJoined(*std::move(joined));
        OnNotFormed(joined.error());
      });
  joiner_->Start();
}

void Supervisor::OnNotFormed(const rendezvous::Failure& failure) {
  reporter_.NotFormed(failure, *joiner_);
  verdict_.Finish(StatusOf(failure));
}

void Supervisor::OnInterrupted(int signal) {
  // The joiner waits only to send its failure to other ranks.
  if (const rendezvous::Failure* failure = joiner_ ? joiner_->failure() : nullptr) {
    verdict_.noted().waits_end = true;
    return OnNotFormed(*failure);
  }
  reporter_.Interrupted(signal, joiner_.get());
  if (!plan_.join) NoteNotStarted();
  if (joiner_) joiner_->Send(FailureOfSignal(signal, plan_.join->self.claims.front().rank, plan_.node));
  verdict_.Finish(128 + signal);
}

void Supervisor::OnJoined(rendezvous::Joined joined) {
  std::vector<int> own_ranks;
  for (const rendezvous::RankClaim& claim : plan_.join->self.claims) own_ranks.push_back(claim.rank);
  verdict_.Formed(*joined.group, std::move(own_ranks));
  reporter_.Formed(*loop_, joiner_->arrivals(), !joined.upstream);
  services_ = std::make_unique<ProgramServices>(*loop_, plan_, verdict_, *programs_);
  plane_ = std::make_unique<rendezvous::ControlPlane>(*loop_, std::move(joined), verdict_.place().own_ranks,
                                                      plan_.config.liveness, EventsOfGroup());
  ender_->Connect(*plane_);
  failures_->Connect(*plane_);
  const Status served =
      services_->Open(*plane_, [this](int rank, pid_t process) { failures_->Lose(rank, process); });
  if (!served) return failures_->Report(plane_->OwnFailure(served.error()));
  StartPrograms();
}

std::function<void()> Supervisor::Noted(bool EndFacts::*fact) {
  return [this, fact] {
    verdict_.noted().*fact = true;
    CheckDone();
  };
}

rendezvous::ControlPlane::Events Supervisor::EventsOfGroup() {
  rendezvous::ControlPlane::Events events;
  services_->AddTo(events);
  events.on_failure = [this](const rendezvous::Failure& failure) { OnFailure(failure); };
  events.on_all_know = Noted(&EndFacts::all_know);
  events.on_released = Noted(&EndFacts::released);
  events.on_ends_reported = Noted(&EndFacts::ends_received);
  events.on_gathered = [this](const rendezvous::KeyedAllGather& whole) {
    const RunSteps steps = AfterExchange(verdict_.facts(), verdict_.place().is_root, whole.name);
    if (!steps.empty()) return Do(steps);
    reporter_.recorder().Initialized();
    services_->server()->Publish(whole);
  };
  events.on_ends = [this](const std::vector<rendezvous::RankEnd>& ends) {
    reporter_.recorder().AddEnds(ends);
  };
  events.on_maps_over = [this] { failures_->EndMaps(); };
  return events;
}

// ---- programs

void Supervisor::StartPrograms() {
  signals_->HoldForPrograms(true);
  if (!expected_ || !verdict_.place().is_root) return OpenFiles();
  expected_->SetRanks(verdict_.place().group.roster, plan_.job_key);
  expected_->LookBefore([this](const std::optional<Error>& late) {
    if (!verdict_.may_report()) return;
    late ? failures_->Report(FailureOfFiles(*late)) : OpenFiles();
  });
}

void Supervisor::OpenFiles() {
  const rendezvous::FormedGroup& group = verdict_.place().group;
  programs_->OpenFiles(group.roster, verdict_.place().own_ranks, [this, &group] {
    signals_->HoldForPrograms(false);
    // Or the run has ended meanwhile.
    if (!verdict_.may_report()) return;
    auto failure =
        programs_->Start(group, verdict_.place().own_ranks, services_ ? services_->server()->path() : "");
    if (failure) return failures_->Report(*std::move(failure));
    signals_->PassOnKept();
    if (programs_->empty()) Do(AfterPrograms(verdict_.facts(), verdict_.place()));
  });
}

void Supervisor::Do(RunStep step) {
  switch (step) {
    case RunStep::kReport:
      return failures_->ReportProgram();
    case RunStep::kReportSoon:
      return failures_->ReportProgramSoon();
    case RunStep::kReportSignal:
      return failures_->Report(FailureOfSignal(verdict_.place(), verdict_.request(), Clock::now()));
    case RunStep::kAwaitLost:
      return failures_->AwaitLost();
    case RunStep::kSendExitReport:
      return plane_->exit_reports().Send(reporter_.recorder().own_ends());
    case RunStep::kGatherAllDone:
      return ContributeNothingTo(kAllDone);
    case RunStep::kGatherFiles:
      return ContributeNothingTo(kFilesAreThere);
    case RunStep::kLeave:
      return plane_->leaving().Leave();
    case RunStep::kCheckFiles:
      return CheckFiles();
    case RunStep::kAwaitAllKnow:
      loop_->After(kAllKnowWithin, Noted(&EndFacts::all_know));
      return;
    case RunStep::kSendEnds:
      return plane_->exit_reports().Finish(
          reporter_.recorder().own_ends(),
          OthersEndWithin(*verdict_.failure(), verdict_.request(), verdict_.facts().grace,
                          verdict_.place().is_root, Clock::now()));
    case RunStep::kFinishSoon:
      loop_->After(kFinishSoon, [this] { verdict_.Finish(); });
      return;
    case RunStep::kAwaitLeftBehind:
      loop_->After(kLeftBehindWithin, Noted(&EndFacts::left_behind_over));
      return;
    case RunStep::kAwaitOutput:
      return output_->Await();
    case RunStep::kGiveUpOutput:
      return output_->GiveUp(*verdict_.request().Explains(Clock::now()));
    case RunStep::kLimitOutput:
      return output_->GiveUpLater(*verdict_.EndingSignal());
    case RunStep::kFinish:
      if (reporter_.NoteLoss(programs_->losses().failure())) verdict_.noted().output_lost = true;
      return verdict_.Finish();
  }
}

void Supervisor::ContributeNothingTo(std::string_view exchange) {
  rendezvous::KeyedAllGather part{std::string(exchange), rendezvous::MillisecondsLeft(Deadline::Never()), {}};
  for (const int rank : verdict_.place().own_ranks) part.entries.emplace_back(rank, Bytes{});
  plane_->exchanges().Contribute(part);
}

void Supervisor::CheckFiles() {
  expected_->Check([this](const std::optional<Error>& missing) {
    if (!verdict_.may_report()) return;
    if (missing) return failures_->Report(FailureOfFiles(*missing));
    Advance(verdict_.FilesFound());
  });
}

// ---- failures

void Supervisor::OnFailure(const rendezvous::Failure& failure) {
  if (!verdict_.Failed(failure)) return;
  reporter_.recorder().Failed(failure);
  NoteNotStarted();
  const bool received = plane_ && plane_->failures().from_parent();
  auto maps = plane_ ? plane_->maps().LookAtAll() : std::vector<map::MapState>();
  ender_->EndOrphans();
  if (services_ && services_->server() != nullptr) services_->server()->Announce(failure);
  if (plan_.config.run.stop_on_failure) ender_->EndRest();
  // The log may be on a file system that stalls: the programs end before it is written.
  output_->NoteFailure(received, std::move(maps));
  CheckDone();
}

// The root would take them for lost.
void Supervisor::NoteNotStarted() {
  programs_->NoteNotStarted(verdict_.place().group.roster, verdict_.place().own_ranks);
}

}  // namespace muster::run
