#include "bootstrap/run/supervisor.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "bootstrap/process/descendants.h"
#include "bootstrap/process/orphans.h"
#include "bootstrap/report/report.h"
#include "bootstrap/resources/threads.h"
#include "bootstrap/run/program_environment.h"
#include "bootstrap/store/master_port.h"
#include "comm/log/log.h"
#include "comm/nccl/nccl_environment.h"
#include "comm/net/chosen_interfaces.h"

namespace muster::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A program that drops out of its group is usually on its way to an exit status that says more.
constexpr Duration kExitStatusWithin = milliseconds(500);
constexpr Duration kNoOrphansWithin = seconds(5);
// Whoever signals a whole step or terminal reaches the program and its supervisor in either order.
constexpr Duration kSameSignalWithin = milliseconds(200);
rendezvous::FormedGroup GroupOfOne(const std::string& node) {
  rendezvous::FormedGroup group;
  group.roster.nodes.push_back({node, {}});
  group.roster.members.push_back({0, 0, getpid(), {}});
  return group;
}

std::string MasterHost(const Roster& roster) {
  const Roster::Node& node = roster.nodes[static_cast<size_t>(roster.NodeOf(0))];
  return roster.nodes.size() == 1 || node.addresses.empty() ? "127.0.0.1" : node.addresses.front();
}

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
  const int incarnation = plan_.join ? plan_.join->self.agreement.restart : 0;
  output_ = std::make_unique<OutputPlan>(*loop_, plan_.config.run, incarnation, [this] { CheckDone(); });
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
    StartPrograms(group_);
  }
  loop_->RunUntil([this] { return status_.has_value(); }, Deadline::Never());
  output_->Drain(Deadline::After(kExitStatusWithin));
  Conclude();
  programs_.clear();
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
  store_users_ = std::make_unique<store::StoreUsers>(plan_.join->uid, [this] {
    std::vector<store::RunningProgram> running;
    for (const auto& program : programs_) {
      if (!program->exit()) running.push_back({program->rank(), program->pid()});
    }
    return running;
  });
  events.on_ends = [this](const std::vector<rendezvous::RankEnd>& ends) { recorder_.Hear(ends); };
  events.on_ends_told = [this] {
    ends_told_ = true;
    CheckDone();
  };
  events.on_job_end = [this](Deadline latest) {
    if (server_) server_->TellJobEnd(latest);
  };
  reports_ = std::make_unique<ProgramReports>(*loop_, programs_,
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
  StartPrograms(group_);
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

// `muster once`: the program is to find neither ranks to meet nor a launcher to believe.
process::ChildOptions Supervisor::OptionsAlone() const {
  const rendezvous::FormedGroup alone = GroupOfOne(plan_.node);
  ProgramFacts facts{alone.roster};
  facts.job_key = plan_.job_key;
  facts.master_host = MasterHost(alone.roster);
  facts.extra = plan_.config.run.env;
  facts.extra["MUSTER_LAUNCHER"] = "none";
  return OptionsWith(facts);
}

process::ChildOptions Supervisor::OptionsWith(const ProgramFacts& facts) const {
  process::ChildOptions options;
  options.command = plan_.command;
  options.environment = ProgramEnvironment(plan_.environment, facts);
  options.own_process_group = plan_.own_process_groups;
  options.pipe_stdout = output_->captured();
  return options;
}

process::ChildOptions Supervisor::OptionsFor(const rendezvous::FormedGroup& group, int rank) const {
  if (plan_.who != WhoRuns::kEveryRank) return OptionsAlone();
  const bool alone = group.roster.size() == 1;
  ProgramFacts facts{group.roster};
  facts.rank = rank;
  facts.job_key = plan_.job_key;
  facts.master_host = MasterHost(group.roster);
  facts.master_port = alone ? uint16_t{0} : store::MasterPortOf(group.roster);
  facts.agent_store = !alone && plan_.config.run.store == config::RunStore::kMuster;
  facts.control = server_ ? server_->path() : "";
  facts.supervisor_pid = getpid();
  facts.restarts = plan_.restarts;
  facts.max_restarts = plan_.max_restarts;
  facts.several_ranks = plan_.join && plan_.join->self.claims.size() > 1;
  facts.threads = ThreadsOfRank(plan_.config.run.threads, group.roster, rank, plan_.environment);
  facts.extra = plan_.config.run.env;
  facts.interfaces = net::ChosenInterfaces(plan_.config.rendezvous.interface);
  const auto& for_nccl = plan_.config.nccl.interface;
  facts.nccl =
      nccl::NcclVariables(plan_.config.nccl, for_nccl ? net::ChosenInterfaces(for_nccl) : facts.interfaces);
  // Its default is for those whose lines muster takes; a program's own output is its own.
  if (!plan_.says_nccl_debug)
    std::erase_if(facts.nccl, [](const auto& v) { return v.first == "NCCL_DEBUG"; });
  return OptionsWith(facts);
}

void Supervisor::StartPrograms(const rendezvous::FormedGroup& group) {
  std::vector<int> ranks = plane_ ? plane_->own_ranks() : std::vector<int>{0};
  std::erase_if(ranks, [this](int rank) { return !HasProgram(rank); });
  input_ = std::make_unique<InputPlan>(*loop_, plan_.config.run.input, static_cast<int>(ranks.size()));
  memory_.emplace();
  if (ExpectsFiles() && root_) {
    expected_ = std::make_unique<ExpectedFiles>(*loop_, plan_.config.run.expect, group_.roster, plan_.job_key,
                                                plan_.files_before);
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    std::optional<rendezvous::Failure> failure = StartProgram(group, ranks[i]);
    if (!failure) continue;
    for (size_t rest = i; rest < ranks.size(); ++rest) recorder_.NotStarted(ranks[rest]);
    return Report(*std::move(failure));
  }
  input_->Start();
  if (programs_.empty()) OnProgramsDone();
}

std::optional<rendezvous::Failure> Supervisor::StartProgram(const rendezvous::FormedGroup& group, int rank) {
  auto output = output_->For(group.roster, rank);
  if (!output) return rendezvous::Failure{output.error(), rank, -1, ""};
  auto input = input_->For(rank);
  if (!input) return rendezvous::Failure{input.error(), rank, -1, ""};
  process::ChildOptions options = OptionsFor(group, rank);
  options.stdin_end = input->get();
  auto program = RankProgram::Start(*loop_, rank, options, *std::move(output));
  if (!program) {
    const process::StartFailure& failure = program.error();
    Error error = failure.error;
    error.message = fmt::format("{}: {}", Describe(rank), error.message);
    return rendezvous::Failure{std::move(error), rank, failure.exit_status, ""};
  }
  programs_.push_back(*std::move(program));
  return std::nullopt;
}

bool Supervisor::HasProgram(int rank) const {
  if (plan_.who == WhoRuns::kFirstRank) return rank == 0;
  if (plan_.who == WhoRuns::kEveryRank) return true;
  return group_.roster.members[static_cast<size_t>(rank)].local_rank == 0;
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

bool Supervisor::AllEnded() const {
  return std::ranges::all_of(programs_, [](const auto& program) { return program->has_ended(); });
}

void Supervisor::OnChildren() {
  bool noticed = false;
  for (const auto& program : programs_) {
    RankProgram& one = *program;
    noticed = one.NoticeExit([this, &one] { OnProgramEnded(one); }) || noticed;
  }
  // An orphan that ended at the same moment is found at the next one, or at the end.
  if (!noticed) process::ReapOrphans();
}

void Supervisor::OnProgramEnded(const RankProgram& program) {
  ended_at_ = Clock::now();
  input_->Ended(program.rank());
  const process::ChildExit& exit = *program.exit();
  const rendezvous::OutOfMemory out_of_memory = exit.ok() ? rendezvous::OutOfMemory::kNo : memory_->Look();
  recorder_.Ended(program.rank(), exit, out_of_memory);
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
  if (!failure_ && !reported_ && AllEnded()) OnProgramsDone();
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
  const bool ended = std::ranges::any_of(programs_, [rank](const auto& program) {
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
