// `muster help --json`: the whole manual and every key of the configuration as one object, for what is made from them.
#pragma once

#include <span>
#include <string>

#include "bootstrap/cli/help/manual.h"

namespace muster::cli {

std::string ManualJson(std::span<const CommandRow> commands);

}  // namespace muster::cli
