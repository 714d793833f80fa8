// The steps that every way into muster shares: what was asked for, who this process is, how it will meet the
// others. Used by muster::Init and by the commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/launch/detect.h"
#include "bootstrap/launch/environment.h"
#include "comm/base/error.h"
#include "comm/rendezvous/join_request.h"

namespace muster {

// As given by flags or InitOptions; nothing is defaulted yet.
struct Asked {
  std::optional<std::string> config_file;  // else MUSTER_CONFIG
  std::vector<std::string> sets;           // "timeouts.collective=1h"
  ExplicitTuple explicit_tuple;
};

// File, MUSTER_* variables and --set values. Error: kConfiguration.
Result<EffectiveConfig> LoadConfiguration(const Environment& environment, const Asked& asked);

// Sets the log up as the configuration says, and gives its warnings.
Status StartLog(const EffectiveConfig& effective);

// Who this process is. Warnings are logged.
tl::expected<Resolution, Refusal> ResolveLaunch(const Environment& environment, const Config& config,
                                                const Asked& asked);

// What a process of `resolution` brings to the rendezvous. `payload` goes into the roster. Not for a world of
// one. Error: kConfiguration (nothing says where rank 0 is, a malformed MUSTER_SECRET).
Result<JoinRequest> MakeJoinRequest(const Environment& environment, const Config& config, const Asked& asked,
                                    const Resolution& resolution, Bytes payload);

}  // namespace muster
