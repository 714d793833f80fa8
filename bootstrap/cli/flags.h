// Flags that several commands share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/cli/help/manual.h"
#include "bootstrap/join/startup.h"
#include "bootstrap/run/program/program_environment.h"

namespace CLI {
class Option;
class Validator;
}  // namespace CLI

namespace muster::cli {

// The values of the shared flags; filled when the command line is parsed.
struct SharedFlags {
  std::string config_file;
  std::vector<std::string> sets;
  std::vector<std::string> output_sets;  // of flags that are keys
  std::string launcher;
  std::string endpoint;
  std::string report;
  std::vector<std::string> expected;
  int rank = -1;
  int world_size = -1;
  int local_rank = -1;
};

// For CLI::Option::check: a whole number, with a message that has the text.
CLI::Validator NumberFrom(int least, int most);

// The program and its arguments, into `words`: the last positional of a command.
inline constexpr const char* kProgramArgument = "CMD";
CLI::Option* AddProgram(CLI::App& command, const std::shared_ptr<std::vector<std::string>>& words);

// -c, --set
std::shared_ptr<SharedFlags> AddConfigFlags(CLI::App& command);
// --label --log-dir --stdin --expect
void AddOutputFlags(CLI::App& command, const std::shared_ptr<SharedFlags>& flags);
// --launcher --rank --world-size --local-rank --endpoint
void AddLaunchFlags(CLI::App& command, const std::shared_ptr<SharedFlags>& flags);

// --max-restarts, into `most`
void AddRestartFlag(CLI::App& command, const std::shared_ptr<int>& most);
// --dry-run; with it --json
void AddDryRunFlags(CLI::App& command, const std::shared_ptr<bool>& dry_run,
                    const std::shared_ptr<bool>& json);
// --report
void AddReportFlag(CLI::App& command, const std::shared_ptr<SharedFlags>& flags);

// Error: kConfiguration (a malformed endpoint).
Result<join::StartOptions> StartOptionsFrom(const SharedFlags& flags);

// One line of JSON.
std::string ErrorAsJson(const Error& error);

// "muster: message (hint)" on stderr, or with `json` the error object on stdout; the exit status of its code.
int ReportError(const Error& error, bool json = false);
// The exit status of a command that gave `result`; reports its error.
int StatusOf(const Result<int>& result, bool json = false);

// For a program in a world of one, which has no supervisor's socket to request the configuration: --config
// becomes MUSTER_CONFIG (an absolute path), --set KEY=VALUE the key's own variable, so that muster::Init
// computes the same configuration. Not the keys of `run`, which only the supervisor uses.
void ExportSettings(const join::StartOptions& asked, run::Variables& variables);

}  // namespace muster::cli
