// NCCL takes most of its settings from the environment alone, and reads it once, when it starts. Pure, except
// for the functions that change this process: `muster run` passes them to programs with their own NCCL.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "comm/options.h"

namespace muster::nccl {

// NCCL's variables for these options. `interfaces` are names, best first; empty: NCCL chooses.
std::vector<std::pair<std::string, std::string>> NcclVariables(const NcclOptions& options,
                                                               const std::vector<std::string>& interfaces);

// Sets those in this process that are not set: a user's export stays. Not while another thread reads the
// environment.
void SetUnsetVariables(const std::vector<std::pair<std::string, std::string>>& variables);

// It would override the setting of each communicator. The same restriction.
void UnsetCommBlocking();

}  // namespace muster::nccl
