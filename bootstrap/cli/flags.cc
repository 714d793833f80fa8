#include "bootstrap/cli/flags.h"

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "comm/base/log.h"

namespace muster {

std::shared_ptr<SharedFlags> AddConfigFlags(CLI::App& command) {
  auto flags = std::make_shared<SharedFlags>();
  command.add_option("-c,--config", flags->config_file, "YAML configuration (else MUSTER_CONFIG)")
      ->type_name("FILE");
  command
      .add_option("--set", flags->sets,
                  "one setting, over file and environment: --set timeouts.rendezvous=2m; repeatable")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->expected(1);
  return flags;
}

void AddLaunchFlags(CLI::App& command, const std::shared_ptr<SharedFlags>& flags) {
  constexpr int kMost = std::numeric_limits<int>::max();
  command
      .add_option("--launcher", flags->launcher,
                  "believe this launcher (slurm, torchrun, openmpi, ..., none)")
      ->type_name("NAME");
  const auto explicit_tuple = "an explicit tuple, for starters that muster does not know";
  command.add_option("--rank", flags->rank, explicit_tuple)->check(CLI::Range(0, kMost))->group("Explicit");
  command.add_option("--world-size", flags->world_size)->check(CLI::Range(1, kMost))->group("Explicit");
  command.add_option("--local-rank", flags->local_rank)->check(CLI::Range(0, kMost))->group("Explicit");
  command.add_option("--endpoint", flags->endpoint, "where rank 0's node listens")
      ->type_name("HOST:PORT")
      ->group("Explicit");
}

Result<Asked> AskedBy(const SharedFlags& flags) {
  Asked asked;
  if (!flags.config_file.empty()) asked.config_file = flags.config_file;
  asked.sets = flags.sets;
  if (!flags.launcher.empty()) asked.sets.push_back("launcher=" + flags.launcher);
  if (flags.rank >= 0) asked.explicit_tuple.rank = flags.rank;
  if (flags.world_size >= 0) asked.explicit_tuple.world_size = flags.world_size;
  if (flags.local_rank >= 0) asked.explicit_tuple.local_rank = flags.local_rank;
  if (!flags.endpoint.empty()) {
    MUSTER_TRY(asked.explicit_tuple.endpoint, ParseEndpoint(flags.endpoint));
  }
  return asked;
}

int ReportError(const Error& error, bool json) {
  if (json) {
    nlohmann::ordered_json object;
    object["error"]["code"] = CodeName(error.code);
    object["error"]["message"] = error.message;
    object["error"]["hint"] = error.hint;
    object["allocation"] = nullptr;
    fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    LogError("{}", ToString(error));
  }
  return ExitStatus(error.code);
}

}  // namespace muster
