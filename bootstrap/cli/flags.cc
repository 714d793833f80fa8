#include "bootstrap/cli/flags.h"

#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "bootstrap/config/table.h"
#include "bootstrap/config/text/quote.h"
#include "comm/log/log.h"

namespace muster::cli {

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

void AddOutputFlags(CLI::App& command, const std::shared_ptr<SharedFlags>& flags) {
  const auto set = [flags](std::string setting) { flags->output_sets.push_back(std::move(setting)); };
  command.add_flag_callback(
      "--label", [set] { set("run.label=true"); }, "begin each line of CMD's output with its rank");
  command
      .add_option_function<std::string>(
          "--log-dir", [set](const std::string& directory) { set("run.log_dir=" + directory); },
          "keep CMD's output in DIR as well, a file for each rank and stream")
      ->type_name("DIR");
  command
      .add_option_function<std::string>(
          "--stdin", [set](const std::string& who) { set("run.stdin=" + who); },
          "give the standard input to rank 0, to all (a copy each), or to none (default: to rank 0 if this "
          "muster starts several ranks, else to all)")
      ->type_name("rank0|all|none|auto");
  command
      .add_option("--expect", flags->expected,
                  "exit with 79 unless CMD has written this file when all ranks have exited with 0; a glob, "
                  "${rank} and the like are allowed; repeatable")
      ->type_name("FILE")
      ->take_all()
      ->expected(1);
}

void AddLaunchFlags(CLI::App& command, const std::shared_ptr<SharedFlags>& flags) {
  constexpr int kMost = std::numeric_limits<int>::max();
  command
      .add_option("--launcher", flags->launcher,
                  "believe this launcher (slurm, torchrun, openmpi, ..., none)")
      ->type_name("NAME");
  // CLI11 ends the title with a colon.
  const auto group = "Explicit tuple, for starters that muster does not know; wins over every launcher";
  const auto add = [&](const char* name, int& value, int least, const char* what) {
    const CLI::Validator range = CLI::Range(least, kMost).description("");
    command.add_option(name, value, what)->check(range)->type_name("N")->group(group);
  };
  add("--rank", flags->rank, 0, "this process's rank, from 0; with --world-size");
  add("--world-size", flags->world_size, 1, "how many ranks there are; with --rank");
  add("--local-rank", flags->local_rank, 0, "its rank on its node, from 0");
  command
      .add_option("--endpoint", flags->endpoint,
                  "where ranks of several nodes meet: rank 0's node, a free port")
      ->type_name("HOST:PORT")
      ->group(group);
}

void AddRestartFlag(CLI::App& command, const std::shared_ptr<int>& most) {
  command
      .add_option("--max-restarts", *most,
                  "start the whole group again after a failed program, so many times (default 0)")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000));
}

void AddReportFlag(CLI::App& command, const std::shared_ptr<SharedFlags>& flags) {
  command
      .add_option("--report", flags->report,
                  "write what became of the run there: a page where it ends in .html, else JSON (run.report)")
      ->type_name("FILE");
}

Result<join::StartOptions> StartOptionsFrom(const SharedFlags& flags) {
  join::StartOptions asked;
  if (!flags.config_file.empty()) asked.config_file = flags.config_file;
  asked.sets = flags.sets;
  asked.sets.insert(asked.sets.end(), flags.output_sets.begin(), flags.output_sets.end());
  if (!flags.launcher.empty()) asked.sets.push_back("launcher=" + flags.launcher);
  if (!flags.expected.empty()) {
    std::string list;
    for (const std::string& file : flags.expected)
      list += (list.empty() ? "" : ", ") + config::JsonQuoted(file);
    asked.sets.push_back("run.expect=[" + list + "]");
  }
  if (!flags.report.empty()) asked.sets.push_back("run.report=" + flags.report);
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
    LogEvent(LogLevel::kError, "error", {{"code", CodeName(error.code)}, {"hint", error.hint}}, "{}",
             ToString(error));
  }
  return ExitStatus(error.code);
}

void ExportSettings(const join::StartOptions& asked, run::Variables& variables) {
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

}  // namespace muster::cli
