// The subcommands of `muster`: one file each. main.cc only wires them. Each adds itself to the application
// with its flags and help, and puts what to do into `run`, which gives the exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace muster::cli {

using Run = std::function<int()>;

void AddRunCommand(CLI::App& app, Run& run);
void AddLaunchCommand(CLI::App& app, Run& run);
void AddOnceCommand(CLI::App& app, Run& run);
void AddResolveCommand(CLI::App& app, Run& run);
void AddCheckCommand(CLI::App& app, Run& run);
void AddDoctorCommand(CLI::App& app, Run& run);
void AddConfigCommand(CLI::App& app, Run& run);
void AddSecretCommand(CLI::App& app, Run& run);
void AddStatusCommand(CLI::App& app, Run& run);
void AddStoreCommand(CLI::App& app, Run& run);
void AddMapCommand(CLI::App& app, Run& run);

}  // namespace muster::cli
