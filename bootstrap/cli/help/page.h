// The manual as pages of text.
#pragma once

#include <span>
#include <string>

#include "bootstrap/cli/help/layout.h"
#include "bootstrap/cli/help/manual.h"

namespace muster::cli {

// `muster --help`: all commands with their summaries, on one screen.
std::string FirstPage(std::span<const CommandRow> commands, const Style& style);

// `muster COMMAND --help`
std::string CommandPage(const CommandManual& command, const Style& style);

// `muster help exit-status`
std::string ExitStatusPage(const Style& style);

}  // namespace muster::cli
