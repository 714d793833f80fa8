#include "bootstrap/cli/flags.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/process/standard_streams.h"
#include "comm/log/log.h"
#include "comm/log/log_time.h"

namespace muster::cli {

std::shared_ptr<SharedFlags> AddConfigFlags(Options& options) {
  auto flags = std::make_shared<SharedFlags>();
  options.Under(kSettings);
  options.Text("-c,--config", flags->config_file, "FILE", "the YAML configuration (else MUSTER_CONFIG)");
  options
      .Text(
          "--set", [flags](const std::string& setting) { flags->sets.push_back(setting); }, "KEY=VALUE",
          "set one key, over file and environment, for example --set timeouts.rendezvous=2m, the wait for "
          "all ranks; repeatable; muster help keys lists the keys")
      .Repeatable();
  return flags;
}

void AddOutputFlags(Options& options, const std::shared_ptr<SharedFlags>& flags) {
  options.Under(kOutput);
  const auto set = [flags](std::string setting) { flags->output_sets.push_back(std::move(setting)); };
  options.Flag(
      "--label", [set] { set("run.label=true"); }, "begin each line of CMD's output with its rank");
  options.Text(
      "--log-dir", [set](const std::string& directory) { set("run.log_dir=" + directory); }, "DIR",
      "also write CMD's output to DIR, a file for each rank and stream");
  options
      .Text(
          "--stdin", [set](const std::string& who) { set("run.stdin=" + who); }, "rank0|all|none|auto",
          "the ranks that have the standard input: rank 0, all (a copy each) or none; auto: rank 0 if this "
          "muster starts several ranks, else all")
      .OneOf({"rank0", "all", "none", "auto"});
  options
      .Text(
          "--expect", [flags](const std::string& file) { flags->expected.push_back(file); }, "FILE",
          "exit with 79 if all ranks have exited with 0 but CMD has not written FILE; a glob and ${rank} are "
          "allowed; repeatable")
      .Repeatable();
}

// An empty value, of a variable that is not set, is none: as without the option, the ranks would meet elsewhere.
void AddEndpointFlag(Options& options, const std::shared_ptr<SharedFlags>& flags, const char* text) {
  options.Text(
      "--endpoint", [flags](const std::string& endpoint) { flags->endpoint = endpoint; }, "HOST:PORT", text);
}

void AddLaunchFlags(Options& options, const std::shared_ptr<SharedFlags>& flags) {
  constexpr int kMost = std::numeric_limits<int>::max();
  options.Under(kMeeting);
  options.Text("--launcher", flags->launcher, "NAME",
               "the launcher to trust: slurm, torchrun, openmpi, ..., or none for a world of one");
  options.Number("--rank", flags->rank, 0, kMost, "N",
                 "the rank of this process, from 0, for a launcher that muster does not support; wins over "
                 "every other one; with --world-size");
  options.Number("--world-size", flags->world_size, 1, kMost, "N", "the number of ranks; with --rank");
  options.Number("--local-rank", flags->local_rank, 0, kMost, "N",
                 "the rank of this process on its node, from 0");
  AddEndpointFlag(options, flags,
                  "the address at which ranks of several nodes meet: the node of rank 0, a free port");
}

void AddRestartFlag(Options& options, const std::shared_ptr<int>& most) {
  options.Under(kProgram);
  options.Number("--max-restarts", *most, 0, 1'000'000, "N",
                 "start the whole group again after a failed program, at most N times (default 0)");
}

void AddDryRunFlags(Options& options, const std::shared_ptr<bool>& dry_run,
                    const std::shared_ptr<bool>& json) {
  options.Under(kProgram);
  const Option dry =
      options.Flag("--dry-run", *dry_run,
                   "print the ranks, their environment and how they find each other; start nothing");
  options.Flag("--json", *json, "with --dry-run: print one JSON object").Needs(dry);
}

void AddReportFlag(Options& options, const std::shared_ptr<SharedFlags>& flags) {
  options.Under(kOutput);
  options.Text("--report", flags->report, "FILE",
               "write the report of the run to FILE: a page if it ends in .html, else JSON (run.report)");
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
  if (flags.endpoint) {
    Result<Endpoint> endpoint = ParseEndpoint(*flags.endpoint);
    if (!endpoint) {
      endpoint.error().message.insert(0, "--endpoint: ");
      return tl::unexpected(std::move(endpoint).error());
    }
    asked.explicit_tuple.endpoint = *std::move(endpoint);
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
  if (json && process::Print(ErrorAsJson(error))) return ExitStatus(error.code);
  if (error.code == Code::kUsage) SetLogTime(LogTime::kNone);
  LogEvent(LogLevel::kError, "error", {{"code", CodeName(error.code)}, {"hint", error.hint}}, "{}",
           ToString(error));
  return ExitStatus(error.code);
}

int StatusOf(const Result<int>& result, bool json) {
  return result ? *result : ReportError(result.error(), json);
}

}  // namespace muster::cli
