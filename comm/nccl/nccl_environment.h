// NCCL takes most of its settings from the environment alone, and reads it once, when it starts. Pure but for
// what changes this process: `muster run` gives them to programs that bring an NCCL of their own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "comm/options.h"

namespace muster::nccl {

// NCCL's variables for these options. `interfaces` are names, best first; empty: NCCL chooses.
std::vector<std::pair<std::string, std::string>> NcclVariables(const NcclOptions& options,
                                                               const std::vector<std::string>& interfaces);

// Sets them in this process, where they are not set yet: what a user has exported stays. Not while another
// thread reads the environment.
void SetUnsetVariables(const std::vector<std::pair<std::string, std::string>>& variables);

// It would overrule what each communicator asks for. The same restriction.
void UnsetCommBlocking();

}  // namespace muster::nccl
