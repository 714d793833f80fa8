#include "bootstrap/cli/flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "bootstrap/cli/usage/program_words.h"
#include "bootstrap/config/table.h"
#include "bootstrap/config/text/quote.h"
#include "comm/base/parse_integer.h"
#include "comm/log/log.h"
#include "comm/log/log_time.h"

namespace muster::cli {

CLI::Validator NumberFrom(int least, int most) {
  const auto check = [least, most](const std::string& text) {
    const auto number = ParseInteger<int>(text);
    const bool fits = number && *number >= least && *number <= most;
    return fits ? std::string() : fmt::format("\"{}\" is not a number from {} to {}", text, least, most);
  };
  return {check, "", ""};
}

CLI::Option* AddProgram(CLI::App& command, const std::shared_ptr<std::vector<std::string>>& words) {
  command.positionals_at_end();
  return command.add_option_function<std::vector<std::string>>(
      kProgramArgument, [words](const std::vector<std::string>& marked) { *words = UnmarkProgram(marked); },
      "the program and its arguments, after -- and all options of muster");
}

std::shared_ptr<SharedFlags> AddConfigFlags(CLI::App& command) {
  auto flags = std::make_shared<SharedFlags>();
  command.option_defaults()->group(kSettings);
  command.add_option("-c,--config", flags->config_file, "the YAML configuration (else MUSTER_CONFIG)")
      ->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--set", [flags](const std::string& setting) { flags->sets.push_back(setting); },
          "set one key, over file and environment, for example --set timeouts.rendezvous=2m, the wait for "
          "all ranks; repeatable; muster help keys lists the keys")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->trigger_on_parse();
  return flags;
}

void AddOutputFlags(CLI::App& command, const std::shared_ptr<SharedFlags>& flags) {
  command.option_defaults()->group(kOutput);
  const auto set = [flags](std::string setting) { flags->output_sets.push_back(std::move(setting)); };
  command.add_flag_callback(
      "--label", [set] { set("run.label=true"); }, "begin each line of CMD's output with its rank");
  command
      .add_option_function<std::string>(
          "--log-dir", [set](const std::string& directory) { set("run.log_dir=" + directory); },
          "also write CMD's output to DIR, a file for each rank and stream")
      ->type_name("DIR");
  command
      .add_option_function<std::string>(
          "--stdin", [set](const std::string& who) { set("run.stdin=" + who); },
          "the ranks that have the standard input: rank 0, all (a copy each) or none; auto: rank 0 if this "
          "muster starts several ranks, else all")
      ->type_name("rank0|all|none|auto")
      ->check(CLI::IsMember({"rank0", "all", "none", "auto"}).description(""));
  command
      .add_option_function<std::string>(
          "--expect", [flags](const std::string& file) { flags->expected.push_back(file); },
          "exit with 79 if all ranks have exited with 0 but CMD has not written FILE; a glob and ${rank} are "
          "allowed; repeatable")
      ->type_name("FILE")
      ->take_all()
      ->trigger_on_parse();
}

void AddLaunchFlags(CLI::App& command, const std::shared_ptr<SharedFlags>& flags) {
  constexpr int kMost = std::numeric_limits<int>::max();
  command.option_defaults()->group(kMeeting);
  command
      .add_option("--launcher", flags->launcher,
                  "the launcher to trust: slurm, torchrun, openmpi, ..., or none for a world of one")
      ->type_name("NAME");
  const auto add = [&](const char* name, int& value, int least, const char* what) {
    command.add_option(name, value, what)->check(NumberFrom(least, kMost))->type_name("N");
  };
  add("--rank", flags->rank, 0,
      "the rank of this process, from 0, for a launcher that muster does not support; wins over every "
      "other one; with --world-size");
  add("--world-size", flags->world_size, 1, "the number of ranks; with --rank");
  add("--local-rank", flags->local_rank, 0, "the rank of this process on its node, from 0");
  command
      .add_option("--endpoint", flags->endpoint,
                  "the address at which ranks of several nodes meet: the node of rank 0, a free port")
      ->type_name("HOST:PORT");
}

void AddRestartFlag(CLI::App& command, const std::shared_ptr<int>& most) {
  command.option_defaults()->group(kProgram);
  command
      .add_option("--max-restarts", *most,
                  "start the whole group again after a failed program, at most N times (default 0)")
      ->type_name("N")
      ->check(NumberFrom(0, 1'000'000));
}

void AddDryRunFlags(CLI::App& command, const std::shared_ptr<bool>& dry_run,
                    const std::shared_ptr<bool>& json) {
  command.option_defaults()->group(kProgram);
  CLI::Option* dry =
      command.add_flag("--dry-run", *dry_run,
                       "print the ranks, their environment and how they find each other; start nothing");
  command.add_flag("--json", *json, "with --dry-run: print one JSON object")->needs(dry);
}

void AddReportFlag(CLI::App& command, const std::shared_ptr<SharedFlags>& flags) {
  command.option_defaults()->group(kOutput);
  command
      .add_option("--report", flags->report,
                  "write the report of the run to FILE: a page if it ends in .html, else JSON (run.report)")
      ->type_name("FILE");
}

Result<join::StartOptions> StartOptionsFrom(const SharedFlags& flags) {
  join::StartOptions asked;
  if (!flags.config_file.empty()) asked.config_file = flags.config_file;
  asked.sets = flags.sets;
  asked.sets.insert(asked.sets.end(), flags.output_sets.begin(), flags.output_sets.end());
  if (!flags.launcher.empty()) asked.sets.push_back("launcher=" + flags.launcher);
  if (!flags.expected.empty()) {
    asked.sets.push_back("run.expect=[" + config::Joined(flags.expected, ", ", config::JsonQuoted) + "]");
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

std::string ErrorAsJson(const Error& error) {
  nlohmann::ordered_json object;
  object["error"]["code"] = CodeName(error.code);
  object["error"]["message"] = error.message;
  object["error"]["hint"] = error.hint;
  object["allocation"] = nullptr;
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int ReportError(const Error& error, bool json) {
  if (json) {
    fmt::print("{}", ErrorAsJson(error));
  } else {
    if (error.code == Code::kUsage) SetLogTime(LogTime::kNone);
    LogEvent(LogLevel::kError, "error", {{"code", CodeName(error.code)}, {"hint", error.hint}}, "{}",
             ToString(error));
  }
  return ExitStatus(error.code);
}

int StatusOf(const Result<int>& result, bool json) {
  return result ? *result : ReportError(result.error(), json);
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
