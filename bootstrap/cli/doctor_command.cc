// muster doctor: what muster finds on this machine, without a job.
#include <fmt/core.h>

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/doctor/examine.h"
#include "bootstrap/doctor/report.h"
#include "comm/base/version.h"

namespace muster::cli {
namespace {

constexpr Duration kLongest = std::chrono::seconds(20);

constexpr const char* kFooter =
    "Exit status: 0, also with notes; 71 where a job that starts here now would fail; otherwise as "
    "everywhere\n"
    "(muster --help).\n\n"
    "Examples:\n"
    "  muster doctor                    on a login node, without a job\n"
    "  srun -N1 muster doctor           on a compute node\n"
    "  muster doctor --json\n\n"
    "What only several nodes together can show, `muster check` examines.";

Result<int> Examine(const SharedFlags& shared, bool json) {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const join::StartOptions asked, StartOptionsFrom(shared));
  MUSTER_TRY(const config::EffectiveConfig effective, join::LoadConfiguration(environment, asked));
  MUSTER_CHECK(join::StartLog(effective));
  const doctor::Report report{
      kVersion, environment.host_name().value_or("this machine"),
      doctor::Examine(environment, effective.config, asked, Deadline::After(kLongest))};
  fmt::print("{}", json ? ReportJson(report) : ReportText(report));
  return Worst(report.findings) == doctor::Health::kProblem ? ExitStatus(Code::kSystem) : 0;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("doctor", "what muster finds on this machine, without a job");
  command->description(
      "Say what muster finds on this machine: system, limits, sockets, network, munge, Slurm, GPUs, "
      "launcher;\n"
      "what it would use, what is missing, what that costs and what to do about it. Needs no job.");
  command->footer(kFooter);
  const auto shared = AddConfigFlags(*command);
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "one JSON object on stdout");
  command->callback([shared, json, &run] {
    run = [shared, json] {
      const Result<int> status = Examine(*shared, *json);
      return status ? *status : ReportError(status.error(), *json);
    };
  });
}

}  // namespace muster::cli
