// Flags that several commands share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/cli/help/manual.h"
#include "bootstrap/join/startup.h"

namespace muster::cli {

// The values of the shared flags; filled when the command line is parsed.
struct SharedFlags {
  std::string config_file;
  std::vector<std::string> sets;
  std::vector<std::string> output_sets;  // of flags that are keys
  std::string launcher;
  std::optional<std::string> endpoint;
  std::string report;
  std::vector<std::string> expected;
  int rank = -1;
  int world_size = -1;
  int local_rank = -1;
};

// -c, --set
std::shared_ptr<SharedFlags> AddConfigFlags(Options& options);
// --label --log-dir --stdin --expect
void AddOutputFlags(Options& options, const std::shared_ptr<SharedFlags>& flags);
// --endpoint
void AddEndpointFlag(Options& options, const std::shared_ptr<SharedFlags>& flags, const char* text);
// --launcher --rank --world-size --local-rank --endpoint
void AddLaunchFlags(Options& options, const std::shared_ptr<SharedFlags>& flags);

// --max-restarts, into `most`
void AddRestartFlag(Options& options, const std::shared_ptr<int>& most);
// --dry-run; with it --json
void AddDryRunFlags(Options& options, const std::shared_ptr<bool>& dry_run,
                    const std::shared_ptr<bool>& json);
// --report
void AddReportFlag(Options& options, const std::shared_ptr<SharedFlags>& flags);

// Error: kConfiguration (a malformed endpoint).
Result<join::StartOptions> StartOptionsFrom(const SharedFlags& flags);

// One line of JSON.
std::string ErrorAsJson(const Error& error);

// "muster: message (hint)" on stderr, or with `json` the error object on stdout, if that can be written; the exit status
// of its code.
int ReportError(const Error& error, bool json = false);
// The exit status of a command that gave `result`; reports its error.
int StatusOf(const Result<int>& result, bool json = false);

}  // namespace muster::cli
