// What of the flags reaches a program in a world of one: it has no supervisor's socket where it would ask for
// the configuration.
#pragma once

#include "bootstrap/join/startup.h"
#include "bootstrap/run/program_environment.h"

namespace muster::cli {

// --config becomes MUSTER_CONFIG (an absolute path), --set KEY=VALUE the key's own variable: muster::Init
// then comes to the same configuration. Not the keys of `run`, which are the supervisor's alone.
void ExportSettings(const join::StartOptions& asked, run::Variables& variables);

}  // namespace muster::cli
