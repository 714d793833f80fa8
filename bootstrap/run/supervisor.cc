#include "bootstrap/run/supervisor.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "bootstrap/run/descendants.h"
#include "bootstrap/run/orphans.h"
#include "bootstrap/run/program_environment.h"
#include "bootstrap/run/signal_reach.h"
#include "comm/base/log.h"
#include "comm/net/wire.h"

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A program that drops out of its group is usually on its way to an exit status that says more.
constexpr Duration kExitStatusWithin = milliseconds(500);
// The group's word that every rank knows comes in milliseconds, or not at all.
constexpr Duration kEveryoneKnowsWithin = seconds(10);
// What Slurm tells all ranks at once is one request.
constexpr Duration kOneRequest = seconds(1);
constexpr Duration kNoOrphansWithin = seconds(5);

bool EndsPrograms(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

int StatusOf(const Failure& failure) {
  return failure.exit_status > 0 ? failure.exit_status : ExitStatus(failure.error.code);
}

FormedGroup GroupOfOne(const std::string& node) {
  FormedGroup group;
  group.roster.nodes.push_back({node, {}});
  group.roster.members.push_back({0, 0, getpid(), {}});
  return group;
}

uint16_t MasterPort(const Roster& roster) {
  WireReader reader(roster.members.front().payload);
  return reader.U16();
}

std::string MasterHost(const Roster& roster) {
  const Roster::Node& node = roster.nodes[static_cast<size_t>(roster.NodeOf(0))];
  return roster.nodes.size() == 1 || node.addresses.empty() ? "127.0.0.1" : node.addresses.front();
}

}  // namespace

Supervisor::Supervisor(SupervisorPlan plan) : plan_(std::move(plan)) {}

Supervisor::~Supervisor() = default;

Result<int> Supervisor::Run() {
  MUSTER_CHECK(CheckExtraVariables(plan_.config.run.env));
  MUSTER_TRY(loop_, EventLoop::Create());
  MUSTER_TRY(relay_, SignalRelay::Start());
  MUSTER_CHECK(BecomeSubreaper());
  MUSTER_CHECK(loop_->Watch(relay_->fd(), EPOLLIN, [this](uint32_t) {
    while (const auto event = relay_->Next()) OnSignal(*event);
  }));
  if (plan_.join) {
    Join();
  } else {
    group_ = GroupOfOne(plan_.node);
    StartPrograms(group_);
  }
  loop_->RunUntil([this] { return status_.has_value(); }, Deadline::Never());
  programs_.clear();
  if (const Status gone = KillDescendants({}, Deadline::After(kNoOrphansWithin)); !gone) {
    LogWarning("{}", gone.error().message);
  }
  relay_->KeepBlocked();
  return *status_;
}

std::string Supervisor::Describe(int rank) const { return DescribeRank(group_.roster, rank); }

// ---- forming

void Supervisor::Join() {
  joiner_ = std::make_unique<Joiner>(*loop_, *plan_.join, [this](tl::expected<Joined, Failure> joined) {
    // The joiner is still at work on the stack.
    loop_->Post([this] { joiner_.reset(); });
    if (joined) return OnJoined(*std::move(joined));
    LogError("{}", ToString(joined.error().error));
    Finish(StatusOf(joined.error()));
  });
  joiner_->Start();
}

void Supervisor::OnJoined(Joined joined) {
  group_ = joined.group;
  std::vector<int> own_ranks;
  for (const Claim& claim : plan_.join->self.claims) own_ranks.push_back(claim.rank);
  ControlPlane::Events events;
  events.on_failure = [this](const Failure& failure) { OnFailure(failure); };
  events.on_everyone_knows = [this] {
    everyone_knows_ = true;
    CheckDone();
  };
  events.on_released = [this] {
    released_ = true;
    CheckDone();
  };
  events.on_exchanged = [this](const Exchange& whole) { desk_->Publish(whole); };
  plane_ = std::make_unique<ControlPlane>(*loop_, std::move(joined), own_ranks, plan_.config.liveness,
                                          std::move(events));
  auto desk = ProgramDesk::Open(*loop_, *plane_, {plan_.join->uid, plan_.configuration, plan_.job_key},
                                [this](int rank) { OnProgramLost(rank); });
  if (!desk) {
    return Report({desk.error(), own_ranks.front(), -1, ""});
  }
  desk_ = *std::move(desk);
  StartPrograms(group_);
}

// ---- programs

ChildOptions Supervisor::OptionsFor(const FormedGroup& group, int rank) const {
  const bool alone = group.roster.size() == 1;
  ProgramFacts facts{group.roster};
  facts.rank = rank;
  facts.job_key = plan_.job_key;
  facts.master_host = MasterHost(group.roster);
  facts.master_port = alone ? uint16_t{0} : MasterPort(group.roster);
  facts.control = desk_ ? desk_->name() : "";
  facts.supervisor_pid = getpid();
  facts.several_ranks = plan_.join && plan_.join->self.claims.size() > 1;
  facts.extra = plan_.config.run.env;
  ChildOptions options;
  options.command = plan_.command;
  options.environment = ProgramEnvironment(plan_.environment, facts);
  options.own_process_group = plan_.own_process_groups;
  return options;
}

void Supervisor::StartPrograms(const FormedGroup& group) {
  std::vector<int> ranks = plane_ ? plane_->own_ranks() : std::vector<int>{0};
  for (const int rank : ranks) {
    auto program = RankProgram::Start(*loop_, rank, OptionsFor(group, rank));
    if (!program) {
      const StartFailure& failure = program.error();
      Error error = failure.error;
      error.message = fmt::format("{}: {}", Describe(rank), error.message);
      return Report({std::move(error), rank, failure.exit_status, ""});
    }
    programs_.push_back(*std::move(program));
  }
}

bool Supervisor::AllEnded() const {
  return std::ranges::all_of(programs_, [](const auto& program) { return program->exit().has_value(); });
}

void Supervisor::OnSignal(const SignalEvent& event) {
  if (event.number == SIGCHLD) return OnChildren();
  if (EndsPrograms(event.number)) {
    asked_to_end_ = event.number;
    asked_at_ = Clock::now();
  }
  if (programs_.empty()) {
    if (EndsPrograms(event.number)) {
      LogWarning("ended by signal {} while the group was forming", event.number);
      Finish(128 + event.number);
    }
    return;
  }
  // A second SIGTERM means "at once" to many programs: they hear of their end once, from us or from outside.
  if (event.number == SIGTERM && kill_timer_ != 0) return;
  if (AllEnded() && EndsPrograms(event.number)) {
    // The program itself got this very signal and ended well.
    if (Clock::now() - ended_at_ < kOneRequest) return;
    // Only others are still at work: they hear that this process will not wait for them.
    const int rank = programs_.front()->rank();
    return Report(
        {{Code::kPeerLost, fmt::format("{} was told to end (signal {})", Describe(rank), event.number), ""},
         rank,
         128 + event.number,
         ""});
  }
  if (ReachedProgram(event, plan_.own_process_groups)) return;
  for (const auto& program : programs_) {
    if (!program->exit()) program->Signal(event.number);
  }
}

void Supervisor::OnChildren() {
  std::vector<pid_t> keep;
  for (const auto& program : programs_) keep.push_back(program->pid());
  bool noticed = false;
  for (const auto& program : programs_) {
    if (!program->NoticeExit()) continue;
    noticed = true;
    OnProgramEnded(*program);
  }
  // An orphan that ended at the same moment is found at the next one, or at the end.
  if (!noticed) ReapOrphans(keep);
}

void Supervisor::OnProgramEnded(const RankProgram& program) {
  ended_at_ = Clock::now();
  const ChildExit& exit = *program.exit();
  if (!exit.ok() && !failure_) {
    const bool as_asked = asked_to_end_ != 0 && exit.ShellStatus() == 128 + asked_to_end_;
    const std::string what = as_asked
                                 ? fmt::format("{} was told to end (signal {}): {}", Describe(program.rank()),
                                               asked_to_end_, exit.Describe())
                                 : fmt::format("{} failed: {}", Describe(program.rank()), exit.Describe());
    Report({{Code::kPeerLost, what, ""}, program.rank(), exit.ShellStatus(), program.LastWords()});
  }
  if (exit.ok() && lost_.contains(program.rank())) ReportLost(program.rank());
  // Not after a failure of ours that the root has yet to confirm: a goodbye would let this process go with 0.
  if (plane_ && !failure_ && !reported_ && AllEnded()) plane_->Leave();
  CheckDone();
}

void Supervisor::OnProgramLost(int rank) {
  lost_.insert(rank);
  loop_->After(kExitStatusWithin, [this, rank] { ReportLost(rank); });
}

void Supervisor::ReportLost(int rank) {
  if (failure_ || reported_) return;
  Report({{Code::kPeerLost,
           fmt::format("the program of {} left its group without saying goodbye", Describe(rank)),
           "muster::Shutdown says goodbye; a crash or an early exit does not"},
          rank,
          -1,
          ""});
}

// ---- the end

void Supervisor::Report(Failure failure) {
  reported_ = true;
  if (plane_) return plane_->Fail(std::move(failure));
  everyone_knows_ = true;
  OnFailure(failure);
}

void Supervisor::OnFailure(const Failure& failure) {
  if (failure_) return;
  failure_ = failure;
  LogError("{}", ToString(failure.error));
  // Every rank tells who was first; what it said last is told once.
  const bool teller = !plane_ || plane_->is_root();
  if (teller && !failure.last_words.empty()) {
    LogError("the last lines of {}:\n{}", Describe(failure.rank), failure.last_words);
  }
  ClearNodeOf(failure);
  if (desk_) desk_->Announce(failure);
  if (plan_.config.run.stop_on_failure) EndPrograms();
  CheckDone();
}

// A killed supervisor takes its program with it, but not what the program had started. One of its node's
// survivors sees to that.
void Supervisor::ClearNodeOf(const Failure& failure) const {
  const Roster& roster = group_.roster;
  const bool supervisor_lost = failure.error.code == Code::kPeerLost && failure.exit_status < 0;
  if (!plane_ || !supervisor_lost || failure.rank < 0 || failure.rank >= roster.size()) return;
  const int own_rank = plane_->own_ranks().front();
  if (roster.NodeOf(own_rank) != roster.NodeOf(failure.rank)) return;
  std::vector<int> survivors = roster.RanksOn(roster.NodeOf(own_rank));
  std::erase(survivors, failure.rank);
  if (!survivors.empty() && survivors.front() == own_rank) KillProcessesOfRank(roster.group_id, failure.rank);
}

void Supervisor::EndPrograms() {
  // A second SIGTERM means "at once" to many programs.
  const bool just_asked = asked_to_end_ == SIGTERM && Clock::now() - asked_at_ < kOneRequest;
  bool running = false;
  for (const auto& program : programs_) {
    if (program->exit()) continue;
    if (!just_asked) program->Signal(SIGTERM);
    running = true;
  }
  if (!running) return;
  kill_timer_ = loop_->After(plan_.config.run.grace, [this] {
    for (const auto& program : programs_) {
      if (program->exit()) continue;
      LogWarning("rank {} has not ended within run.grace; killing it", program->rank());
      program->Signal(SIGKILL);
    }
  });
}

void Supervisor::CheckDone() {
  if (status_ || !AllEnded()) return;
  if (failure_) {
    if (everyone_knows_) return Finish(StatusOf(*failure_));
    if (last_timer_ == 0) {
      last_timer_ = loop_->After(kEveryoneKnowsWithin, [this] { Finish(StatusOf(*failure_)); });
    }
    return;
  }
  if (!plane_ || released_) Finish(0);
}

void Supervisor::Finish(int status) {
  if (!status_) status_ = status;
}

}  // namespace muster
