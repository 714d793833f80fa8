// muster config: the effective configuration and the origin of each value.
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/config/explain.h"
#include "bootstrap/process/standard_streams.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "comm/log/log.h"

namespace muster::cli {
namespace {

constexpr CommandText kText = {
    .details =
        R"(Prints every setting as YAML that loads back to the same configuration. A value comes from --set, else from its
MUSTER_ variable, else from the file, else it is the default. muster help KEY explains a setting.)",
    .examples = R"(muster config --explain -c configs/eval.yaml
muster config --json --set timeouts.collective=1h)",
};

struct ConfigFlags {
  bool json = false;
  bool explain = false;
};

Result<int> ShowConfiguration(const SharedFlags& shared, const ConfigFlags& flags) {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const join::StartOptions asked, StartOptionsFrom(shared));
  MUSTER_TRY(const config::EffectiveConfig effective, join::LoadConfiguration(environment, asked));
  MUSTER_CHECK(resolve::Launchers().CheckName(effective.config.launcher));
  for (const std::string& warning : effective.warnings) LogWarning("{}", warning);
  MUSTER_CHECK(process::Print(flags.json ? config::ToJson(effective, flags.explain)
                                         : config::ToYaml(effective, flags.explain)));
  return 0;
}

}  // namespace

CommandText AddConfigCommand(Options& options, Run& run) {
  const auto shared = AddConfigFlags(options);
  const auto flags = std::make_shared<ConfigFlags>();
  options.Under(kOutput);
  options.Flag("--json", flags->json, "print one JSON object");
  options.Flag("--explain", flags->explain, "print the origin of each value");
  run = [shared, flags] { return StatusOf(ShowConfiguration(*shared, *flags), flags->json); };
  return kText;
}

}  // namespace muster::cli
