// The subcommands of `muster`: one file each. Each adds its options to its command and puts the work into `run`; its
// row in main.cc has the name and the summary.
#pragma once

#include <span>
#include <string_view>

#include "bootstrap/cli/help/manual.h"
#include "comm/base/error.h"

namespace muster::cli {

CommandText AddRunCommand(CLI::App& command, Run& run);
CommandText AddLaunchCommand(CLI::App& command, Run& run);
CommandText AddOnceCommand(CLI::App& command, Run& run);
CommandText AddResolveCommand(CLI::App& command, Run& run);
CommandText AddCheckCommand(CLI::App& command, Run& run);
CommandText AddDoctorCommand(CLI::App& command, Run& run);
CommandText AddConfigCommand(CLI::App& command, Run& run);
CommandText AddSecretCommand(CLI::App& command, Run& run);
CommandText AddStatusCommand(CLI::App& command, Run& run);
CommandText AddStoreCommand(CLI::App& command, Run& run);
CommandText AddMapCommand(CLI::App& command, Run& run);
CommandText AddJournalCommand(CLI::App& command, Run& run);
CommandText AddHelpCommand(CLI::App& command, Run& run);

// All of them, in the order of the first page.
std::span<const CommandRow> Commands();
const CommandRow* FindCommand(std::string_view name);

// The manual on standard output: of a command, or with `topic` empty the first page. `colour`: the value of
// --color. Error: kUsage.
Result<int> ShowHelp(std::string_view topic, std::string_view colour);

}  // namespace muster::cli
