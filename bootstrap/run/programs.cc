#include "bootstrap/run/programs.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "bootstrap/process/descendants.h"
#include "bootstrap/process/process_tree.h"
#include "bootstrap/resources/threads.h"
#include "bootstrap/store/master_port.h"
#include "comm/nccl/nccl_environment.h"
#include "comm/net/hosts.h"
#include "comm/net/socket.h"
#include "comm/system/descriptor_room.h"

namespace muster::run {
namespace {

// `muster once`: the program receives neither ranks nor a launcher's variables.
Variables VariablesAlone(const SupervisorPlan& plan) {
  const rendezvous::FormedGroup alone = GroupOfOne(plan.node);
  ProgramFacts facts{alone.roster};
  facts.job_key = plan.job_key;
  facts.master_host = MasterHost(alone.roster, 0);
  facts.rewrite_for_rank = true;  // the launcher's variables become those of a single task
  facts.extra = plan.config.run.env;
  return ProgramVariables(plan.environment, facts);
}

// An error about the limit on open files, with the number that is needed: pipes, and files of run.log_dir.
Error WithNumberNeeded(const SupervisorPlan& plan, size_t ranks, const Error& error) {
  const size_t descriptors = ranks * (plan.config.run.log_dir ? 4 : 2);
  const Status room = MakeRoomForDescriptors(descriptors, fmt::format("the output of {} ranks", ranks));
  return room ? error : room.error();
}

}  // namespace

Variables VariablesFor(const SupervisorPlan& plan, const Roster& roster, int rank,
                       const std::string& control) {
  if (plan.who != WhoRuns::kEveryRank) return VariablesAlone(plan);
  const config::Config& config = plan.config;
  const bool alone = roster.size() == 1;
  ProgramFacts facts{roster};
  facts.rank = rank;
  facts.job_key = plan.job_key;
  facts.master_host = MasterHost(roster, rank);
  facts.master_port = alone ? uint16_t{0} : store::MasterPortOf(roster);
  facts.agent_store = !alone && config.run.store == config::RunStore::kMuster;
  facts.control = control;
  facts.supervisor_pid = getpid();
  facts.restarts = plan.restarts;
  facts.max_restarts = plan.max_restarts;
  facts.rewrite_for_rank = plan.join ? plan.join->self.claims.size() > 1 : plan.own_group;
  facts.threads = ThreadsOfRank(config.run.threads, roster, rank, plan.environment);
  facts.extra = config.run.env;
  // Gloo takes the first.
  const std::vector<std::string>& addresses =
      roster.nodes[static_cast<size_t>(roster.NodeOf(rank))].addresses;
  facts.interfaces =
      net::ChosenInterfaces(config.rendezvous.interface, addresses.empty() ? "" : addresses.front());
  const auto& for_nccl = config.nccl.interface;
  facts.nccl =
      nccl::NcclVariables(config.nccl, for_nccl ? net::ChosenInterfaces(for_nccl) : facts.interfaces);
  // The default level is for programs whose lines muster reads; a program's own output is its own.
  if (!plan.says_nccl_debug) std::erase_if(facts.nccl, [](const auto& v) { return v.first == "NCCL_DEBUG"; });
  return ProgramVariables(plan.environment, facts);
}

rendezvous::FormedGroup GroupOfOne(const std::string& node) {
  rendezvous::FormedGroup group;
  group.roster.nodes.push_back({node, {}});
  group.roster.members.push_back({0, 0, getpid(), {}});
  return group;
}

std::string MasterHost(const Roster& roster, int rank) {
  const std::vector<std::string>& addresses = roster.nodes[static_cast<size_t>(roster.NodeOf(0))].addresses;
  if (roster.nodes.size() == 1 || addresses.empty()) return net::LoopbackHost();
  const std::vector<std::string>& own = roster.nodes[static_cast<size_t>(roster.NodeOf(rank))].addresses;
  return own.empty() ? addresses.front() : net::OnInterfaceOf(own.front(), addresses.front());
}

Programs::Programs(net::EventLoop& loop, const SupervisorPlan& plan, report::RunRecorder& recorder,
                   std::function<void()> on_idle, OnEnded on_ended)
    : loop_(loop),
      plan_(plan),
      recorder_(recorder),
      on_ended_(std::move(on_ended)),
      output_(loop, plan.config.run,
              plan.join ? plan.join->self.agreement.restart : plan.job_restart + plan.restarts,
              std::move(on_idle)) {}

bool Programs::HasProgram(const Roster& roster, int rank) const {
  if (plan_.who == WhoRuns::kFirstRank) return rank == 0;
  if (plan_.who == WhoRuns::kEveryRank) return true;
  return roster.members[static_cast<size_t>(rank)].local_rank == 0;
}

void Programs::OpenFiles(const Roster& roster, std::vector<int> own_ranks, std::function<void()> then) {
  std::erase_if(own_ranks, [&](int rank) { return !HasProgram(roster, rank); });
  output_.OpenFiles(roster, own_ranks, std::move(then));
}

std::optional<rendezvous::Failure> Programs::Start(const rendezvous::FormedGroup& group,
                                                   std::vector<int> own_ranks, const std::string& control) {
  std::erase_if(own_ranks, [&](int rank) { return !HasProgram(group.roster, rank); });
  input_.emplace(loop_, plan_.config.run.input, static_cast<int>(own_ranks.size()));
  memory_.emplace();
  for (auto rank = own_ranks.begin(); rank != own_ranks.end(); ++rank) {
    std::optional<rendezvous::Failure> failure = StartOne(group, *rank, control);
    if (!failure) continue;
    std::for_each(rank, own_ranks.end(), [this](int rest) { recorder_.NotStarted(rest); });
    if (failure->error.hint == DescriptorLimitHint())
      failure->error = WithNumberNeeded(plan_, own_ranks.size(), std::move(failure->error));
    return failure;
  }
  input_->Start();
  return std::nullopt;
}

std::optional<rendezvous::Failure> Programs::StartOne(const rendezvous::FormedGroup& group, int rank,
                                                      const std::string& control) {
  auto output = output_.For(group.roster, rank);
  if (!output) return rendezvous::Failure{output.error(), rank};
  auto input = input_->For(rank);
  if (!input) return rendezvous::Failure{input.error(), rank};
  process::ChildOptions options;
  options.command = plan_.command;
  options.environment = ToList(VariablesFor(plan_, group.roster, rank, control));
  options.own_process_group = plan_.own_process_groups;
  options.stdin_end = input->get();
  auto program = RankProgram::Start(loop_, rank, std::move(options), *std::move(output));
  if (!program) {
    const process::StartFailure& failure = program.error();
    Error error = failure.error;
    error.message = fmt::format("{}: {}", DescribeRank(group.roster, rank), error.message);
    return rendezvous::Failure{std::move(error), rank, failure.exit_status, ""};
  }
  list_.push_back(*std::move(program));
  return std::nullopt;
}

void Programs::NoteNotStarted(const Roster& roster, std::vector<int> own_ranks) {
  if (input_) return;
  std::erase_if(own_ranks, [&](int rank) { return !HasProgram(roster, rank); });
  for (const int rank : own_ranks) recorder_.NotStarted(rank);
}

void Programs::NoticeExits() {
  bool noticed = false;
  for (const auto& program : list_) {
    if (program->NoticeExit()) {
      noticed = true;
      Ended(*program);
    }
    program->NoticeTerminalStop(plan_.node);
  }
  // An orphan that ended at the same moment is found at the next one, or at the end.
  if (!noticed) process::ReapOrphans();
}

bool Programs::HaveLeftBehind() {
  if (!all_ended()) return false;
  if (process::HaveOrphans()) return true;
  for (const auto& program : list_) program->TakeRest();
  return false;
}

void Programs::Ended(const RankProgram& program) {
  input_->Ended(program.rank());
  EndedProgram ended{program.rank(), *program.exit()};
  if (!ended.exit.ok()) ended.out_of_memory = memory_->Look();
  recorder_.Ended(ended.rank, ended.exit, ended.out_of_memory);
  on_ended_(ended);
}

const RankProgram* Programs::Find(int rank) const {
  const auto found = std::ranges::find(list_, rank, [](const auto& program) { return program->rank(); });
  return found == list_.end() ? nullptr : found->get();
}

std::optional<HelperProcess> Programs::HelperOf(int rank, pid_t connected) const {
  const RankProgram* program = Find(rank);
  if (connected == 0 || program == nullptr || program->pid() == connected) return std::nullopt;
  return HelperProcess{connected, !process::IdentityOf(connected)};
}

void Programs::StopReading() {
  for (const auto& program : list_) program->StopReading();
}

void Programs::Signal(int number) {
  for (const auto& program : list_) {
    if (!program->exit()) program->Signal(number);
  }
}

void Programs::GiveUp() {
  for (const auto& program : list_) {
    if (program->exit()) continue;
    program->GiveUp();
    Ended(*program);
  }
}

std::vector<store::RunningProgram> Programs::Running() const {
  std::vector<store::RunningProgram> running;
  for (const auto& program : list_) {
    if (!program->exit()) running.push_back({program->rank(), program->pid()});
  }
  return running;
}

std::vector<int> Programs::RunningRanks() const {
  std::vector<int> ranks;
  for (const store::RunningProgram& program : Running()) ranks.push_back(program.rank);
  return ranks;
}

std::vector<int> Programs::ExitedRanks() const {
  std::vector<int> ranks;
  for (const auto& program : list_) {
    if (program->HasExited()) ranks.push_back(program->rank());
  }
  return ranks;
}

bool Programs::all_ended() const {
  return std::ranges::all_of(list_, [](const auto& program) { return program->exit().has_value(); });
}

}  // namespace muster::run
