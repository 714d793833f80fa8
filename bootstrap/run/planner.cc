#include "bootstrap/run/planner.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "bootstrap/config/explain.h"
#include "bootstrap/config/table.h"
#include "bootstrap/join/local_join.h"
#include "bootstrap/join/rank_block.h"
#include "bootstrap/process/exec_child.h"
#include "bootstrap/process/standard_streams.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "bootstrap/resources/mpi_program.h"
#include "bootstrap/resources/ranks_per_node.h"
#include "bootstrap/run/dry_run.h"
#include "bootstrap/run/program/program_environment.h"
#include "bootstrap/run/restarts.h"
#include "bootstrap/store/master_port.h"
#include "comm/base/parse.h"
#include "comm/base/version.h"
#include "comm/log/log.h"
#include "comm/rendezvous/join/join_request.h"

namespace muster::run {
namespace {

// If one task of each node starts the ranks of that node, several tasks would start them several times.
Result<join::RankBlock> BlockOf(const RankTuple& tuple, int ranks) {
  if (tuple.local_world_size.value_or(1) > 1) {
    return WithHint(Fail(Code::kUsage,
                         "--nproc-per-node {} starts the ranks of a node, but {} started {} processes on {}",
                         ranks, tuple.launcher, *tuple.local_world_size, tuple.node.value_or("this node")),
                    "start one on each node (srun --ntasks-per-node=1), or leave --nproc-per-node out");
  }
  if (!join::RankBlock::Fits(tuple.world_size, ranks)) {
    return WithHint(
        Fail(Code::kUsage, "--nproc-per-node {} on each of {} nodes is too many", ranks, tuple.world_size),
        join::RankBlock::kTooMany);
  }
  return join::RankBlock{tuple.rank, tuple.world_size, ranks};
}

bool HasSrun(const Environment& environment) {
  const std::vector<std::string> path = {fmt::format("PATH={}", environment.Get("PATH").value_or(""))};
  return std::ranges::any_of(process::ExecCandidates("srun", path),
                             [](const std::string& file) { return access(file.c_str(), X_OK) == 0; });
}

class Planner {
 public:
  Planner(join::StartOptions asked, const Supervised& wanted) : wanted_(wanted), asked_(std::move(asked)) {}

  // The launcher learns of the end last: until then processes start and exit as expected.
  Result<int> Run() {
    Result<int> status = RunAll();
    if (kvs_) kvs_->Leave();
    return status;
  }

 private:
  Result<int> RunAll() {
    asked_.command = wanted_.who == WhoRuns::kEveryRank ? "muster run" : "muster once";
    asked_.stands_for_node = wanted_.ranks_per_node.has_value();
    if (wanted_.ranks_per_node)
      ranks_of_node_ = ParseRanksPerNode("--nproc-per-node", *wanted_.ranks_per_node,
                                         [this] { return ProcessorsOfThisNode(environment_.All()); });
    asked_.ranks_of_node = ranks_of_node_.value_or(0);
    auto started = join::StartUp(environment_, asked_);
    if (wanted_.dry_run)
      return started ? DryRun(*std::move(started)) : tl::unexpected<Error>(started.error().error);
    if (!started) return End(join::ReportStartFailure(environment_, asked_, started.error()));
    effective_ = std::move(started->effective);
    resolution_ = std::move(started->resolution);
    if (const Status counted = CountRanks(); !counted) return End(Refused(counted.error()));
    Warn();
    const std::string node = resolution_.tuple.node.value_or(environment_.process()->host_name);
    std::optional<rendezvous::ReportedRefusal> refused;
    Result<int> status = RunWithRestarts(wanted_.max_restarts, [&](int restarts) -> Result<SupervisorPlan> {
      Result<SupervisorPlan> plan = Plan(node, restarts);
      // A restarted group uses another key; a path that failed before may work again.
      if (!plan && restarts == 0) {
        refused = Refused(plan.error());
        return plan;
      }
      SetLogSubject({Block().first_rank(), node, resolution_.tuple.job.key, true, Block().ranks});
      return plan;
    });
    return refused ? End(*refused) : status;
  }

  // Rank 0 prints for all.
  Result<int> DryRun(join::Started started) {
    effective_ = std::move(started.effective);
    resolution_ = std::move(started.resolution);
    MUSTER_CHECK(CountRanks());
    if (resolution_.tuple.rank != 0) return 0;
    Warn();
    MUSTER_TRY(const SupervisorPlan plan,
               Plan(resolution_.tuple.node.value_or(environment_.process()->host_name), 0));
    const std::string& launcher = resolution_.tuple.launcher;
    MUSTER_CHECK(process::Print(wanted_.json ? DryRunJson(plan, launcher) : DryRunText(plan, launcher)));
    return 0;
  }

  rendezvous::ReportedRefusal Refused(const Error& error) const {
    return join::ReportStartFailure(environment_, asked_, resolution_, error);
  }

  // An error that all ranks share is reported once.
  static Result<int> End(const rendezvous::ReportedRefusal& refused) {
    if (!refused.elsewhere) return tl::unexpected<Error>(refused.error);
    LogEvent(LogLevel::kDebug, "error",
             {{"code", CodeName(refused.error.code)}, {"hint", refused.error.hint}}, "{}",
             ToString(refused.error));
    return ExitStatus(refused.error.code);
  }

  Status CountRanks() {
    if (!asked_.stands_for_node) return {};
    MUSTER_TRY(const int ranks, ranks_of_node_);
    MUSTER_TRY(block_, BlockOf(resolution_.tuple, ranks));
    return {};
  }

  // Of what works but is seldom meant. Once for all ranks.
  void Warn() const {
    const RankTuple& tuple = resolution_.tuple;
    if (tuple.rank != 0 || wanted_.who != WhoRuns::kEveryRank) return;
    const auto& command = wanted_.command.empty() ? effective_.config.run.command : wanted_.command;
    if (command.empty()) return;
    WarnOfMpi(command, environment_.All(), Block().ranks);
    if (!asked_.stands_for_node)
      WarnOfNoLauncher(environment_, effective_.config, resolution_, "muster run ...", "...");
  }

  join::RankBlock Block() const {
    return block_.value_or(join::RankBlock{resolution_.tuple.rank, resolution_.tuple.world_size, 1});
  }

  Result<SupervisorPlan> Plan(const std::string& node, int restarts) {
    MUSTER_TRY(SupervisorPlan plan, BeginPlan(environment_, effective_, wanted_.command, "run"));
    MUSTER_CHECK(CheckExtraVariables(plan.config.run.env));
    plan.node = node;
    plan.job_key = resolution_.tuple.job.key;
    plan.job_restart = resolution_.tuple.job.restart;
    plan.began = began_;
    plan.ends_programs = resolve::HasRole(resolution_.tuple.launcher, resolve::LauncherRole::kAlone);
    plan.who = wanted_.who;
    if (Block().world_size() == 1) {
      ExportSettings(asked_, plan.environment);
      return plan;
    }
    MUSTER_TRY(plan.join, Join());
    if (block_) join::ExpandToBlock(*block_, *plan.join);
    CountRestarts(restarts, wanted_.max_restarts, *plan.join);
    plan.max_restarts = wanted_.max_restarts;
    if (wanted_.dry_run) return plan;
    MUSTER_TRY(plan.store, Port(*plan.join));
    return plan;
  }

  // Rank 0's; the roster carries it to every rank.
  Result<std::shared_ptr<store::StorePort>> Port(rendezvous::JoinRequest& request) const {
    if (wanted_.who != WhoRuns::kEveryRank) return nullptr;
    const RankTuple& tuple = resolution_.tuple;
    const config::Config& config = effective_.config;
    const auto& said = asked_.explicit_tuple.endpoint;
    return store::ChooseMasterPort(config, said ? said : config.rendezvous.endpoint,
                                   tuple.world_size == 1 || tuple.local_world_size == tuple.world_size,
                                   request);
  }

  Result<rendezvous::JoinRequest> Join() {
    // A single rank has no peers, and no key distinguishes it from another one on this machine.
    if (resolution_.tuple.world_size == 1) {
      return join::MakeLocalJoin(environment_, effective_.config, resolution_.tuple.job.key);
    }
    MUSTER_TRY(rendezvous::JoinRequest request,
               join::MakeJoinRequest(environment_, effective_.config, asked_, resolution_));
    // One for all groups of this process: not every launcher lets a rank begin twice.
    if (wanted_.dry_run) return request;
    if (!kvs_) kvs_ = rendezvous::OpenLauncherKvs(request.meeting);
    request.kvs = kvs_;
    return request;
  }

  const Supervised& wanted_;
  const Clock::time_point began_ = Clock::now();
  const Environment environment_ = Environment::OfThisProcess();
  join::StartOptions asked_;
  config::EffectiveConfig effective_;
  resolve::Resolution resolution_;
  Result<int> ranks_of_node_ = 0;  // --nproc-per-node
  std::optional<join::RankBlock> block_;
  std::shared_ptr<rendezvous::LauncherKvs> kvs_;
};

}  // namespace

Result<SupervisorPlan> BeginPlan(const Environment& environment, const config::EffectiveConfig& effective,
                                 const std::vector<std::string>& given, std::string_view usage) {
  const config::Config& config = effective.config;
  if (given.empty() && config.run.command.empty()) {
    return WithHint(Fail(Code::kUsage, "nothing to {}: no CMD, and the configuration has no run.command",
                         usage.substr(0, usage.find(' '))),
                    fmt::format("muster {} -- CMD ARGS...", usage));
  }
  SupervisorPlan plan;
  plan.config = config;
  plan.configuration = config::ToYaml(effective, false);
  plan.says_nccl_debug = effective.origins.at("nccl.debug") != "default";
  plan.command = given.empty() ? config.run.command : given;
  plan.environment = environment.All();
  plan.version = kVersion;
  // Ctrl-C and reading from the terminal belong to its foreground group.
  plan.own_process_groups = !process::InTerminalForeground();
  return plan;
}

void ExportSettings(const join::StartOptions& asked, Variables& variables) {
  if (asked.config_file) {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::absolute(*asked.config_file, error);
    variables["MUSTER_CONFIG"] = error ? *asked.config_file : file.string();
  }
  for (const std::string& set : asked.sets) {
    const size_t equals = set.find('=');
    const config::Key* key = config::FindKey(set.substr(0, equals));
    if (key == nullptr || config::SectionOf(key->path) == "run") continue;
    variables[config::VariableName(*key)] = set.substr(equals + 1);
  }
}

void WarnOfNoLauncher(const Environment& environment, const config::Config& config,
                      const resolve::Resolution& resolution, std::string_view in_job,
                      std::string_view launched) {
  const bool unlaunched =
      resolve::HasRole(resolution.tuple.launcher, resolve::LauncherRole::kAlone) && config.launcher == "auto";
  if (!unlaunched || resolution.allocation || !HasSrun(environment)) return;
  LogWarning(
      "no launcher started this process: it is a world of one (ranks of a job: srun {}; ranks on this "
      "machine: muster launch -n N {}; to silence this warning: --launcher none)",
      in_job, launched);
}

Result<int> RunSupervised(join::StartOptions asked, const Supervised& wanted) {
  return Planner(std::move(asked), wanted).Run();
}

}  // namespace muster::run
