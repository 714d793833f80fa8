// muster resolve: the tuple of this process, and its origin. No network, except that a bare PMIx rank queries
// the server on this node.
#include <cstdio>

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/process/standard_streams.h"
#include "bootstrap/resolve/resolve_report.h"
#include "comm/log/log.h"
#include "comm/log/log_time.h"

namespace muster::cli {
namespace {

constexpr CommandText kText = {
    .details =
        R"(Prints the rank, the number of ranks and the launcher of this process, with their variables, and the reason against each
other launcher. It uses no network. If only a PMIx server has the rank, it queries that server on this node.)",
    .examples = R"_(srun -N2 -n4 muster resolve
eval "$(muster resolve --export)"   # the rank as shell variables
muster resolve --env-file captured.env --json   # the environment of another process)_",
};

struct ResolveFlags {
  bool json = false;
  bool exports = false;
  std::string env_file;
};

Result<int> Resolve(const SharedFlags& shared, const ResolveFlags& flags) {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const join::StartOptions asked, StartOptionsFrom(shared));
  MUSTER_TRY(const config::EffectiveConfig effective, join::LoadConfiguration(environment, asked));
  join::StartLog(effective);
  SetLogTime(LogTime::kNone);
  Environment subject = environment;
  if (!flags.env_file.empty()) {
    MUSTER_TRY(subject, Environment::FromFile(flags.env_file));
  }
  const auto resolved = join::ResolveLaunch(subject, effective.config, asked);
  if (resolved) {
    if (flags.exports) {
      for (const std::string& warning : resolved->warnings) LogWarning("{}", warning);
    }
    MUSTER_CHECK(process::Print(flags.json      ? resolve::ResolveJson(*resolved)
                                : flags.exports ? resolve::ResolveExport(*resolved)
                                                : resolve::ResolveText(*resolved)));
    return 0;
  }
  const resolve::Refusal& refusal = resolved.error();
  if (flags.json) {
    MUSTER_CHECK(process::Print(resolve::ResolveJson(refusal)));
  } else {
    // stdout is for requested output: here it is empty.
    std::fputs(resolve::ResolveText(refusal).c_str(), stderr);
  }
  return ExitStatus(refusal.error.code);
}

}  // namespace

CommandText AddResolveCommand(Options& options, Run& run) {
  const auto shared = AddConfigFlags(options);
  AddLaunchFlags(options, shared);
  const auto flags = std::make_shared<ResolveFlags>();
  options.Under(kOutput);
  const Option json = options.Flag("--json", flags->json, "print one JSON object");
  options.Flag("--export", flags->exports, "print lines for a shell's eval").Excludes(json);
  options.Text("--env-file", flags->env_file, "FILE",
               "read the environment from FILE, NAME=VALUE lines, instead of this process");
  run = [shared, flags] { return StatusOf(Resolve(*shared, *flags), flags->json); };
  return kText;
}

}  // namespace muster::cli
