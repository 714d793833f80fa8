// muster launch: N local ranks, no cluster.
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/config/config_digest.h"
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
    "Start N ranks of CMD (else run.command of the configuration) on this machine, each with the "
    "environment\n"
    "it would have under `muster run`. No cluster and no network is needed.";
constexpr const char* kFooter =
    "Examples:\n"
    "  muster launch -n 4 -- python evaluate.py\n"
    "  muster launch -n 4 -c configs/eval-digits.yaml";

// One process stands for all ranks: nobody is met, nothing is opened.
Result<JoinRequest> MakeLocalJoin(const Environment& environment, const Config& config, int ranks) {
  const Environment::Process& process = *environment.process();
  MUSTER_TRY(const uint16_t port, FreeProgramPort(config.rendezvous.ports));
  WireWriter writer;
  writer.U16(port);
  JoinRequest request;
  request.meeting.key = fmt::format("launch uid={} pid={}", process.uid, process.pid);
  request.meeting.job_key = request.meeting.key;
  request.meeting.find_root = FindRoot::kSameNode;
  request.self.node = process.host_name;
  request.self.pid = process.pid;
  request.self.agreement.world_size = ranks;
  request.self.agreement.launcher = "launch";
  request.self.agreement.job_key = request.meeting.job_key;
  request.self.agreement.configuration = GroupWideText(config);
  for (int rank = 0; rank < ranks; ++rank) request.self.claims.push_back({rank, rank, ranks, {}});
  request.self.claims.front().payload = writer.Take();
  request.options = config.rendezvous;
  request.timeouts = config.timeouts;
  request.liveness = config.liveness;
  request.uid = process.uid;
  return request;
}

Result<int> Launch(const SharedFlags& flags, int ranks, const std::vector<std::string>& given) {
  if (ranks == 0) {
    return WithHint(Fail(Code::kUsage, "muster launch needs to know how many ranks: -n N"),
                    "muster launch -n 4 -- CMD ARGS...");
  }
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const Asked asked, AskedBy(flags));
  MUSTER_TRY(const EffectiveConfig effective, LoadConfiguration(environment, asked));
  MUSTER_CHECK(StartLog(effective));
  const Config& config = effective.config;
  MUSTER_TRY([[maybe_unused]] const Backend backend, ChooseBackend(config.backend));
  SupervisorPlan plan;
  plan.config = config;
  plan.configuration = ToYaml(effective, false);
  plan.command = given.empty() ? config.run.command : given;
  if (plan.command.empty()) {
    return WithHint(Fail(Code::kUsage, "nothing to launch: no CMD, and the configuration has no run.command"),
                    "muster launch -n N -- CMD ARGS...");
  }
  plan.environment = environment.All();
  plan.node = environment.process()->host_name;
  plan.job_key = fmt::format("launch:{}:0", environment.process()->pid);
  // Ctrl-C and reading from the terminal belong to its foreground group.
  plan.own_process_groups = !InTerminalForeground();
  if (ranks > 1) {
    MUSTER_TRY(plan.join, MakeLocalJoin(environment, config, ranks));
  }
  return Supervisor(std::move(plan)).Run();
}

}  // namespace

void AddLaunchCommand(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("launch", "start N local ranks, no cluster");
  command->description(kHelp);
  command->footer(kFooter);
  const auto flags = AddConfigFlags(*command);
  const auto ranks = std::make_shared<int>(0);
  command->add_option("-n,--ranks", *ranks, "how many")->type_name("N")->check(CLI::Range(1, 4096));
  const auto program = std::make_shared<std::vector<std::string>>();
  command->add_option("CMD", *program, "the program and its arguments, after --");
  command->positionals_at_end();
  command->callback([flags, ranks, program, &run] {
    run = [flags, ranks, program] {
      const Result<int> status = Launch(*flags, *ranks, *program);
      return status ? *status : ReportError(status.error());
    };
  });
}

}  // namespace muster
