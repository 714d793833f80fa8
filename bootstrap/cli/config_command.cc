// muster config: the effective configuration and where each value came from.
#include <fmt/core.h>

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/config/explain.h"

namespace muster::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  muster config --explain -c configs/eval-digits.yaml\n"
    "  muster config --json --set timeouts.collective=1h";

struct ConfigFlags {
  bool json = false;
  bool explain = false;
};

Result<int> ShowConfiguration(const SharedFlags& shared, const ConfigFlags& flags) {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const join::StartOptions asked, StartOptionsFrom(shared));
  MUSTER_TRY(const config::EffectiveConfig effective, join::LoadConfiguration(environment, asked));
  fmt::print(
      "{}", flags.json ? config::ToJson(effective, flags.explain) : config::ToYaml(effective, flags.explain));
  return 0;
}

}  // namespace

void AddConfigCommand(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("config", "the effective configuration");
  command->description("Print the effective configuration as YAML that loads back to the same.");
  command->footer(kFooter);
  const auto shared = AddConfigFlags(*command);
  const auto flags = std::make_shared<ConfigFlags>();
  command->add_flag("--json", flags->json, "one JSON object");
  command->add_flag("--explain", flags->explain, "with where each value came from");
  command->callback([shared, flags, &run] {
    run = [shared, flags] {
      const Result<int> status = ShowConfiguration(*shared, *flags);
      return status ? *status : ReportError(status.error(), flags->json);
    };
  });
}

}  // namespace muster::cli
