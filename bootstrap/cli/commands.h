// The subcommands of `muster`: one file each. Each adds its options to its command and puts the work into `run`; its
// row in main.cc has the name and the summary.
#pragma once

#include <span>
#include <string_view>

#include "bootstrap/cli/help/manual.h"
#include "comm/base/error.h"

namespace muster::cli {

CommandText AddRunCommand(Options& options, Run& run);
CommandText AddLaunchCommand(Options& options, Run& run);
CommandText AddOnceCommand(Options& options, Run& run);
CommandText AddResolveCommand(Options& options, Run& run);
CommandText AddCheckCommand(Options& options, Run& run);
CommandText AddDoctorCommand(Options& options, Run& run);
CommandText AddConfigCommand(Options& options, Run& run);
CommandText AddSecretCommand(Options& options, Run& run);
CommandText AddStatusCommand(Options& options, Run& run);
CommandText AddStoreCommand(Options& options, Run& run);
CommandText AddMapCommand(Options& options, Run& run);
CommandText AddJournalCommand(Options& options, Run& run);
CommandText AddHelpCommand(Options& options, Run& run);

// All of them, in the order of the first page.
std::span<const CommandRow> Commands();
const CommandRow* FindCommand(std::string_view name);

// The manual on standard output: of a command, or with `topic` empty the first page. `colour`: the value of
// --color. Error: kUsage.
Result<int> ShowHelp(std::string_view topic, std::string_view colour);

}  // namespace muster::cli
