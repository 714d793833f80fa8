// muster doctor: the state of this machine, without a job.
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/doctor/examine.h"
#include "bootstrap/doctor/findings.h"
#include "bootstrap/process/standard_streams.h"
#include "comm/base/version.h"
#include "comm/log/log_time.h"

namespace muster::cli {
namespace {

constexpr Duration kLongestQuery = std::chrono::seconds(10);

constexpr CommandText kText = {
    .details =
        R"(Examines system, limits, sockets, network, munge, Slurm, GPUs and launcher of this machine. For each it prints the choice
of muster, what is missing, the effect, and the remedy. `muster check` examines several nodes together.)",
    .examples = R"(muster doctor   # on a login node, without a job
srun -N1 muster doctor   # on a compute node
muster doctor --json)",
    .exit_status = R"(0 also with notes
71 a job that starts here now would fail)",
};

// MUSTER_CONFIG and the like, as a site's module sets them. A wrong option is an error of the call instead.
doctor::Finding Unusable(const Error& error) {
  return {"config",      doctor::Health::kProblem,
          error.message, "every command of muster exits here immediately",
          error.hint,    {}};
}

Result<int> Examine(const SharedFlags& shared, bool json) {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const join::StartOptions asked, StartOptionsFrom(shared));
  const Result<config::EffectiveConfig> loaded = join::LoadConfiguration(environment, asked);
  if (!loaded && (asked.config_file || !asked.sets.empty())) return tl::unexpected(loaded.error());
  const config::EffectiveConfig effective = loaded.value_or(config::EffectiveConfig{});
  join::StartLog(effective);
  SetLogTime(LogTime::kNone);
  doctor::Report report{kVersion, environment.host_name().value_or("this machine"),
                        doctor::Examine(environment, effective.config, asked, kLongestQuery)};
  if (!loaded) report.findings.insert(report.findings.begin(), Unusable(loaded.error()));
  MUSTER_CHECK(process::Print(json ? ReportJson(report) : ReportText(report)));
  return Worst(report.findings) == doctor::Health::kProblem ? ExitStatus(Code::kSystem) : 0;
}

}  // namespace

CommandText AddDoctorCommand(Options& options, Run& run) {
  const auto shared = AddConfigFlags(options);
  const auto json = std::make_shared<bool>(false);
  options.Under(kOutput);
  options.Flag("--json", *json, "print one JSON object");
  run = [shared, json] { return StatusOf(Examine(*shared, *json), *json); };
  return kText;
}

}  // namespace muster::cli
