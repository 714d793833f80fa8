// The steps that every entry into muster shares: settings, tuple, rendezvous, and the report to the other
// ranks if one of these fails. Used by muster::Init and by the commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/resolve/detect.h"
#include "comm/base/error.h"
#include "comm/rendezvous/control/join.h"
#include "comm/rendezvous/join/join_request.h"

namespace muster::join {

// As given by flags or InitOptions; nothing is defaulted yet.
struct StartOptions {
  std::optional<std::string> config_file;  // else MUSTER_CONFIG
  std::vector<std::string> sets;           // "timeouts.collective=1h"
  ExplicitTuple explicit_tuple;
  bool stands_for_node = false;   // --nproc-per-node: a rank of the launcher is all ranks of its node
  int ranks_of_node = 0;          // how many those are; 0: unknown
  bool host_memory_only = false;  // DataOptions::host_only
  std::string_view command = "muster::Init alone";  // of muster; all ranks must have the same
  bool group_only = false;  // no data plane: EnterGroup's membership has no communicator
};

// File, MUSTER_* variables and --set values. Error: kConfiguration.
Result<config::EffectiveConfig> LoadConfiguration(const Environment& environment, const StartOptions& asked);

// Sets the log up from the configuration, and logs its warnings.
void StartLog(const config::EffectiveConfig& effective);

// The tuple of this process. Its warnings are the caller's to show. If only a PMIx server has the tuple
// (Resolve), the server is queried: BLOCKS for timeouts.resolve at most, else not at all.
tl::expected<resolve::Resolution, resolve::Refusal> ResolveLaunch(const Environment& environment,
                                                                  const config::Config& config,
                                                                  const StartOptions& asked);

// The folders below which processes of one node make their private directories, to meet there
// (net/private_directory.h).
std::vector<std::string> SharedDirectories(const Environment& environment);

struct Started {
  config::EffectiveConfig effective;
  resolve::Resolution resolution;
};

// All of that for a process that is going to join: configuration, log, launch. Warnings are logged, under the
// rank's name. BLOCKS as ResolveLaunch does. A refusal has the rank that the group expects, also if the
// configuration is invalid. After any refusal, here or later, the caller calls ReportStartFailure.
tl::expected<Started, resolve::Refusal> StartUp(const Environment& environment, const StartOptions& asked);

// Reports to the other ranks of this launch, if they can be found, that this process will not join: they all
// end with the cause, instead of waiting for it. A single process reports to none. Returns the error with
// which this process ends: its own, or an earlier one of another rank. `elsewhere`: the root has logged the
// very same, in a log that may be this process's. BLOCKS for a few seconds at most (ReportRefusal). The log's
// subject becomes the rank.
rendezvous::ReportedRefusal ReportStartFailure(const Environment& environment, const StartOptions& asked,
                                               const resolve::Refusal& refusal);

// The same for an obstacle after StartUp, before the request to join was sent.
rendezvous::ReportedRefusal ReportStartFailure(const Environment& environment, const StartOptions& asked,
                                               const resolve::Resolution& resolution, const Error& error);

// The common part of every request to join, under any launcher: this process, its settings, deadlines that do
// not reach beyond the job's end. The caller adds the meeting, the claims and the secret.
rendezvous::JoinRequest BeginRequest(const Environment& environment, const config::Config& config,
                                     std::string node, std::string job);

// MUSTER_SECRET. Error: kConfiguration if it is malformed.
Result<std::optional<auth::JobSecret>> SecretOf(const Environment& environment);

// A warning if the job's end cuts timeouts. Once for all ranks: the caller chooses which.
void WarnOfJobEnd(const Environment& environment, const config::Config& config);

// The request to join of a process of `resolution`. Not for a world of one.
// Error: kConfiguration (rank 0's address is not given, a malformed MUSTER_SECRET).
Result<rendezvous::JoinRequest> MakeJoinRequest(const Environment& environment, const config::Config& config,
                                                const StartOptions& asked,
                                                const resolve::Resolution& resolution);

}  // namespace muster::join
