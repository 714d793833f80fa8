// muster launch: local ranks without a launcher, on this machine or on several.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/cli/launch_hosts.h"
#include "bootstrap/join/local_join.h"
#include "bootstrap/join/rank_block.h"
#include "bootstrap/process/standard_streams.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "bootstrap/resources/mpi_program.h"
#include "bootstrap/resources/ranks_per_node.h"
#include "bootstrap/run/dry_run.h"
#include "bootstrap/run/planner.h"
#include "bootstrap/run/restarts.h"
#include "bootstrap/run/supervisor.h"
#include "bootstrap/store/master_port.h"
#include "comm/base/parse_integer.h"
#include "comm/log/log.h"

namespace muster::cli {
namespace {

constexpr CommandText kText = {
    .details =
        R"(muster starts N ranks of CMD (else of run.command of the configuration) on this machine, each with the environment that
it has under `muster run`. This needs no cluster and no network.

With --hosts, ssh starts the ranks on the machines that a file names. Without ssh, start the same command on each machine
with --nnodes, --node-rank and --endpoint: they form one group.)",
    .examples = R"(muster launch -n 4 --label -- python evaluate.py
muster launch -n 4 -c configs/train.yaml -- python train.py
muster launch --hosts machines.txt -n 8 -- python train.py
muster launch --nnodes 3 --node-rank 1 --endpoint alpha:61000 -n 8 -- python train.py)",
};

// A pipe, socket or terminal: a file and /dev/null never close.
bool InputIsAStream() {
  struct stat status {};
  return isatty(STDIN_FILENO) == 1 ||
         (fstat(STDIN_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)));
}

Status CheckNodes(const LaunchFlags& launch, const join::StartOptions& asked) {
  if (!launch.host_file.empty()) {
    if (launch.nodes == 1 && launch.node < 0) return {};
    return Fail(Code::kUsage, "--hosts names all machines: leave --nnodes and --node-rank out");
  }
  if (launch.ranks.empty()) {
    // "muster launch 4 prog", "muster launch 4 -- prog", "muster launch prog -n 4"
    const std::vector<std::string>& words = launch.command;
    const size_t program = words.size() > 1 && words[1] == "--" ? 2 : 1;
    const bool counted = words.size() > program && ParseInteger<int>(words.front());
    const bool behind = std::ranges::count(words, "-n") > 0;
    return WithHint(Fail(Code::kUsage, "muster launch needs the number of ranks: -n N"),
                    counted  ? fmt::format("muster launch -n {} -- {} ...", words.front(), words[program])
                    : behind ? "write -n in front of the program: muster launch -n 4 -- CMD ARGS..."
                             : "muster launch -n 4 -- CMD ARGS...");
  }
  const auto& endpoint = asked.explicit_tuple.endpoint;
  if (launch.nodes == 1) {
    if (launch.node <= 0 && !endpoint) return {};
    return WithHint(Fail(Code::kUsage, "{} is for several machines, and --nnodes is missing",
                         launch.node > 0 ? "--node-rank" : "--endpoint (--master-addr)"),
                    "leave it out, or add --nnodes N");
  }
  const std::string_view missing = launch.node < 0 ? "--node-rank" : (endpoint ? "" : "--endpoint");
  if (!missing.empty()) {
    return WithHint(
        Fail(Code::kUsage, "--nnodes {} needs {}", launch.nodes, missing),
        "muster launch --nnodes 2 --node-rank 0 --endpoint HOST:PORT -n 4 -- CMD; the endpoint is a "
        "free port on the machine with --node-rank 0, the same everywhere");
  }
  if (launch.node < launch.nodes) return CheckReachedByOthers(*endpoint);
  return WithHint(Fail(Code::kUsage, "--node-rank {} is not below --nnodes {}", launch.node, launch.nodes),
                  "correct it: machines count from 0");
}

Result<rendezvous::JoinRequest> MakeJoin(const Environment& environment, const config::Config& config,
                                         const join::StartOptions& asked, bool any_port,
                                         const join::RankBlock& block, const std::string& job) {
  if (block.nodes == 1) {
    rendezvous::JoinRequest request = join::MakeLocalJoin(environment, config, job);
    join::ExpandToBlock(block, request);
    return request;
  }
  MUSTER_TRY(rendezvous::JoinRequest request,
             join::MakeJoinOfNodes(environment, config, *asked.explicit_tuple.endpoint, any_port, block.node,
                                   block.nodes, job));
  join::ExpandToBlock(block, request);
  return request;
}

// Several processes of muster launch form no common group, which is seldom what was meant.
void WarnOfOthers(const Environment& environment, const config::Config& config, const LaunchFlags& launch,
                  int ranks) {
  if (launch.nodes > 1 || launch.until_stdin_closes || config.launcher == "none") return;
  const auto resolution = resolve::Resolve(environment, {});
  if (!resolution) return;
  const resolve::Launcher& launcher = resolve::Launchers().Of(resolution->tuple.launcher);
  if (launcher.role == resolve::LauncherRole::kSupervisor || !launcher.has_signature) return;
  const RankTuple& tuple = resolution->tuple;
  if (tuple.world_size == 1 || tuple.rank != 0) return;
  const bool one_each = tuple.local_world_size.value_or(1) == 1;
  LogWarning(
      "{0} started {1} processes of muster launch, and each starts a group of its own: {1} groups of {2} "
      "ranks (one group of all: muster run{3}; to silence this warning: MUSTER_LAUNCHER=none)",
      tuple.launcher, tuple.world_size, ranks, one_each ? fmt::format(" --nproc-per-node {}", ranks) : "");
}

Result<int> Launch(const SharedFlags& flags, const LaunchFlags& launch) {
  const Clock::time_point began = Clock::now();
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const join::StartOptions asked, StartOptionsFrom(flags));
  MUSTER_CHECK(CheckNodes(launch, asked));
  MUSTER_TRY(const config::EffectiveConfig effective, join::LoadConfiguration(environment, asked));
  join::StartLog(effective);
  const config::Config& config = effective.config;
  MUSTER_TRY(run::SupervisorPlan plan, run::BeginPlan(environment, effective, launch.command, "launch -n N"));
  if (!launch.host_file.empty()) return LaunchOnHosts(environment, asked, effective, launch);
  MUSTER_TRY(const int ranks,
             ParseRanksPerNode("-n", launch.ranks, [&] { return ProcessorsOfThisNode(environment.All()); }));
  if (!join::RankBlock::Fits(launch.nodes, ranks)) {
    return WithHint(Fail(Code::kUsage, "--nnodes {} with {} ranks on each is too many", launch.nodes, ranks),
                    join::RankBlock::kTooMany);
  }
  const join::RankBlock block{std::max(launch.node, 0), launch.nodes, ranks};
  WarnOfOthers(environment, config, launch, ranks);
  if (launch.node <= 0) WarnOfMpi(plan.command, environment.All(), ranks);
  plan.node = environment.process()->host_name;
  plan.began = began;
  plan.job_key = fmt::format("launch:{}:0", launch.nodes > 1 ? ToString(*asked.explicit_tuple.endpoint)
                                                             : std::to_string(environment.process()->pid));
  SetLogSubject({{}, plan.node, plan.job_key, false});
  plan.ends_programs = true;
  plan.own_group = true;
  UniqueFd lifeline;
  if (launch.until_stdin_closes && !launch.dry_run) {
    if (!InputIsAStream()) {
      return WithHint(
          Fail(Code::kUsage, "--until-stdin-closes: the standard input is a file, which never closes"),
          "start muster launch with a pipe as its standard input, and keep its other end open");
    }
    MUSTER_TRY(lifeline, process::TakeStandardInput());
    plan.lifeline = lifeline.get();
  }
  if (launch.dry_run) {
    plan.max_restarts = launch.max_restarts;
    if (block.world_size() > 1) {
      MUSTER_TRY(plan.join, MakeJoin(environment, config, asked, launch.any_port, block, plan.job_key));
    } else {
      run::ExportSettings(asked, plan.environment);
    }
    MUSTER_CHECK(process::Print(launch.json ? run::DryRunJson(plan, "muster launch")
                                            : run::DryRunText(plan, "muster launch")));
    return 0;
  }
  return run::RunWithRestarts(launch.max_restarts, [&](int restarts) -> Result<run::SupervisorPlan> {
    run::SupervisorPlan next = plan;
    if (block.world_size() == 1) {
      run::ExportSettings(asked, next.environment);
      return next;
    }
    MUSTER_TRY(next.join, MakeJoin(environment, config, asked, launch.any_port, block, plan.job_key));
    run::CountRestarts(restarts, launch.max_restarts, *next.join);
    MUSTER_TRY(next.store,
               store::ChooseMasterPort(config, asked.explicit_tuple.endpoint, launch.nodes == 1, *next.join));
    return next;
  });
}

}  // namespace

CommandText AddLaunchCommand(Options& options, Run& run) {
  const auto flags = AddConfigFlags(options);
  AddOutputFlags(options, flags);
  AddReportFlag(options, flags);
  const auto launch = std::make_shared<LaunchFlags>();
  options.Under(kProgram);
  options.Text("-n,--ranks,--nproc-per-node", launch->ranks, "N|gpu|cpu|auto",
               "the number of ranks on this machine, or on each machine of --hosts");
  AddRestartFlag(options, {launch, &launch->max_restarts});
  AddDryRunFlags(options, {launch, &launch->dry_run}, {launch, &launch->json});
  options.Under(kMeeting);
  options.Number("--nnodes", launch->nodes, 1, 1'000'000, "M",
                 "the number of machines; each has its own muster launch");
  options.Number("--node-rank", launch->node, 0, 999'999, "R",
                 "the number of this machine, from 0; with --nnodes");
  AddEndpointFlag(options, flags, "a free port of the machine with --node-rank 0; with --nnodes");
  options.Text("--hosts", launch->host_file, "FILE",
               "start the ranks on the machines that FILE names, one a line (NAME, or NAME slots=N), by ssh");
  options.Text("--ssh", launch->ssh, "COMMAND",
               "the command that reaches a machine of --hosts (default: ssh -o BatchMode=yes)");
  options.Under(kAdvanced);
  options.Flag("--any-port", launch->any_port,
               "meet at any free port of rendezvous.ports; that of --endpoint distinguishes launches");
  options.Flag("--until-stdin-closes", launch->until_stdin_closes,
               "end the ranks when the standard input closes; CMD has none");
  options.Program({launch, &launch->command});
  run = [flags, launch] { return StatusOf(Launch(*flags, *launch)); };
  return kText;
}

}  // namespace muster::cli
