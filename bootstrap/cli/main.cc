// The `muster` command.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/cli/build_facts.h"
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"

namespace muster::cli {
namespace {

constexpr const char* kFooter =
    "Exit status: 0; 64 usage, or not launched; 65 bad environment; 69 a peer was lost; 70 internal;\n"
    "71 operating system; 75 deadline; 76 ranks disagree; 77 authentication; 78 configuration;\n"
    "79 all programs exited with 0, but a file of run.expect is missing, or items of a map failed;\n"
    "80 the time is up and items of a map are left: the same command continues with them;\n"
    "otherwise that of the first program that failed (128+n for signal n).\n\n"
    "Example: srun -N4 -n16 muster run -c configs/eval.yaml -- python evaluate.py";

struct Command {
  std::string_view name;
  void (*add)(CLI::App& app, Run& run);
};

constexpr Command kCommands[] = {
    {"run", AddRunCommand},       {"launch", AddLaunchCommand}, {"resolve", AddResolveCommand},
    {"check", AddCheckCommand},   {"config", AddConfigCommand}, {"secret", AddSecretCommand},
    {"status", AddStatusCommand}, {"store", AddStoreCommand},   {"once", AddOnceCommand},
    {"doctor", AddDoctorCommand}, {"map", AddMapCommand},       {"journal", AddJournalCommand},
};

// The one that is asked for; to describe the flags of the others as well would be a good part of what 2048
// `muster run` cost. All of them where it is none, for the help.
void AddCommands(CLI::App& app, Run& run, std::string_view name) {
  if (name == "--version") return;
  const bool known = std::ranges::count(kCommands, name, &Command::name) > 0;
  for (const Command& command : kCommands) {
    if (!known || command.name == name) command.add(app, run);
  }
}

bool WantsJson(int argc, char** argv) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) return true;
  }
  return false;
}

// In our words where the parser's own leave one guessing.
Error UsageProblem(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "muster" : "muster " + chosen.front()->get_name();
  std::vector<std::string> unknown = app.remaining(true);
  std::erase(unknown, "--");
  std::string message = error.what();
  if (!unknown.empty()) {
    const bool option = unknown.front().starts_with('-');
    message = fmt::format("{} knows no {} \"{}\"", command,
                          option ? "option" : (chosen.empty() ? "command" : "argument"), unknown.front());
  } else if (chosen.empty()) {
    message = "muster needs a command";
  }
  return {Code::kUsage, message, command + " --help shows what there is"};
}

int Main(int argc, char** argv) {
  CLI::App app("muster takes N processes on a cluster from started to talking.", "muster");
  app.require_subcommand(1);
  app.footer(kFooter);
  app.set_version_flag("--version", BuildFacts, "Print the version, commit, date and features");
  Run run;
  AddCommands(app, run, argc > 1 ? argv[1] : "");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help, --version
  } catch (const CLI::ParseError& error) {
    return ReportError(UsageProblem(app, error), WantsJson(argc, argv));
  }
  return run();
}

}  // namespace
}  // namespace muster::cli

int main(int argc, char** argv) { return muster::cli::Main(argc, argv); }
