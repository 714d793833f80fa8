// The steps that every way into muster shares: what was asked for, who this process is, how it will meet the
// others, and how they hear of it where it cannot. Used by muster::Init and by the commands.
#pragma once

#include <optional>
#include <string>
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
  bool stands_for_node = false;   // --nproc-per-node: what is a rank to the launcher is all ranks of its node
  int ranks_of_node = 0;          // how many those are; 0: not known
  bool host_memory_only = false;  // DataOptions::host_only
  bool group_only = false;        // no data plane: EnterGroup's membership has no communicator
};

// File, MUSTER_* variables and --set values. Error: kConfiguration.
Result<config::EffectiveConfig> LoadConfiguration(const Environment& environment, const StartOptions& asked);

// Sets the log up as the configuration says, and gives its warnings.
Status StartLog(const config::EffectiveConfig& effective);

// Who this process is. Its warnings are the caller's to show. Where a PMIx server alone knows (Resolve), that
// is asked: BLOCKS for timeouts.resolve at most, else not at all.
tl::expected<resolve::Resolution, resolve::Refusal> ResolveLaunch(const Environment& environment,
                                                                  const config::Config& config,
                                                                  const StartOptions& asked);

// Where the processes of one node meet, in directories of their own below these (net/private_directory.h).
std::vector<std::string> SharedDirectories(const Environment& environment);

struct Started {
  config::EffectiveConfig effective;
  resolve::Resolution resolution;
};

// All of that for a process that is going to join: configuration, log, launch. Warnings are logged, under the
// rank's name. BLOCKS as ResolveLaunch does. A refusal knows as whom this process is awaited also where it is
// the configuration that is wrong. Whoever refuses, here or later, calls TellOthers.
tl::expected<Started, resolve::Refusal> StartUp(const Environment& environment, const StartOptions& asked);

// Tells the other ranks of this launch, where they can be found, that this process will not come: they all
// end with what refused it, instead of waiting for it. Nobody is told of what is no rank of several. Gives
// what this process is to end with: its own error, or another's that they had all been told before; and
// whether the root has told people the very same (elsewhere), in a log that may be this process's. BLOCKS
// for a few seconds at most (TellRefusal). The log's subject becomes the rank.
rendezvous::ToldRefusal TellOthers(const Environment& environment, const StartOptions& asked,
                                   const resolve::Refusal& refusal);

// The same for what stood in the way after StartUp, before the request to join was handed over.
rendezvous::ToldRefusal TellOthers(const Environment& environment, const StartOptions& asked,
                                   const resolve::Resolution& resolution, const Error& error);

// What every request to join has, whatever the launcher: this process, its settings, deadlines that do not
// reach beyond the job's end. The meeting, the claims and the secret are the caller's.
rendezvous::JoinRequest BeginRequest(const Environment& environment, const config::Config& config,
                                     std::string node, std::string job);

// MUSTER_SECRET. Error: kConfiguration where it is malformed.
Result<std::optional<auth::JobSecret>> SecretOf(const Environment& environment);

// A warning where the job's end cuts timeouts. Once for all ranks: the caller chooses which.
void WarnOfJobEnd(const Environment& environment, const config::Config& config);

// What a process of `resolution` brings to the rendezvous. `payload` goes into the roster. Not for a world of
// one. Error: kConfiguration (nothing says where rank 0 is, a malformed MUSTER_SECRET).
Result<rendezvous::JoinRequest> MakeJoinRequest(const Environment& environment, const config::Config& config,
                                                const StartOptions& asked,
                                                const resolve::Resolution& resolution, Bytes payload);

}  // namespace muster::join
