// muster run: form the group, run CMD supervised in its environment.
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/config/explain.h"
#include "bootstrap/run/program_port.h"
#include "bootstrap/run/supervisor.h"
#include "bootstrap/run/terminal.h"
#include "comm/base/log.h"
#include "comm/init.h"
#include "comm/net/wire.h"

namespace muster {
namespace {

constexpr const char* kHelp =
    "Form the group of this launch, then run CMD (else run.command of the configuration) as this rank,\n"
    "with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, ... set. The first rank that fails ends\n"
    "them all and is reported by rank and node; its exit status is everybody's.";
constexpr const char* kFooter =
    "Examples:\n"
    "  srun -N4 -n16 muster run -- python evaluate.py --task digits\n"
    "  srun muster run -c configs/eval-digits.yaml";

// Rank 0 says where its program may listen; the roster carries it to everybody.
Result<Bytes> PayloadOf(const RankTuple& tuple, const Config& config) {
  if (tuple.rank != 0) return Bytes{};
  MUSTER_TRY(const uint16_t port, FreeProgramPort(config.rendezvous.ports));
  WireWriter writer;
  writer.U16(port);
  return writer.Take();
}

Result<std::vector<std::string>> CommandOf(const Config& config, const std::vector<std::string>& given) {
  if (!given.empty()) return given;
  if (!config.run.command.empty()) return config.run.command;
  return WithHint(Fail(Code::kUsage, "nothing to run: no CMD, and the configuration has no run.command"),
                  "muster run -- CMD ARGS...");
}

Result<SupervisorPlan> MakePlan(const Environment& environment, const Asked& asked,
                                const EffectiveConfig& effective, const Resolution& resolution,
                                const std::vector<std::string>& command) {
  const Config& config = effective.config;
  SupervisorPlan plan;
  plan.config = config;
  plan.configuration = ToYaml(effective, false);
  MUSTER_TRY(plan.command, CommandOf(config, command));
  plan.environment = environment.All();
  plan.node = resolution.tuple.node.value_or(environment.process()->host_name);
  plan.job_key = resolution.tuple.job.key;
  plan.own_process_groups = !InTerminalForeground();
  if (resolution.tuple.world_size == 1) return plan;
  MUSTER_TRY(Bytes payload, PayloadOf(resolution.tuple, config));
  MUSTER_TRY(plan.join, MakeJoinRequest(environment, config, asked, resolution, std::move(payload)));
  return plan;
}

Result<int> RunSupervised(const SharedFlags& flags, const std::vector<std::string>& command) {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const Asked asked, AskedBy(flags));
  MUSTER_TRY(const EffectiveConfig effective, LoadConfiguration(environment, asked));
  MUSTER_CHECK(StartLog(effective));
  MUSTER_TRY([[maybe_unused]] const Backend backend, ChooseBackend(effective.config.backend));
  const auto resolution = ResolveLaunch(environment, effective.config, asked);
  if (!resolution) {
    const Error& error = resolution.error().error;
    // One of many that Slurm started: at least its node is known.
    const auto node = environment.Get("SLURMD_NODENAME");
    if (node && error.code == Code::kBadEnvironment) SetLogSubject(std::string(*node));
    return tl::unexpected<Error>(error);
  }
  MUSTER_TRY(SupervisorPlan plan, MakePlan(environment, asked, effective, *resolution, command));
  SetLogSubject(fmt::format("rank {} on {}", resolution->tuple.rank, plan.node));
  return Supervisor(std::move(plan)).Run();
}

}  // namespace

void AddRunCommand(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("run", "form the group and run a program in it");
  command->description(kHelp);
  command->footer(kFooter);
  const auto flags = AddConfigFlags(*command);
  AddLaunchFlags(*command, flags);
  const auto program = std::make_shared<std::vector<std::string>>();
  command->add_option("CMD", *program, "the program and its arguments, after --");
  command->positionals_at_end();
  command->callback([flags, program, &run] {
    run = [flags, program] {
      const Result<int> status = RunSupervised(*flags, *program);
      return status ? *status : ReportError(status.error());
    };
  });
}

}  // namespace muster
