// The `muster` command.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/cli/build_facts.h"
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/cli/usage/habits.h"
#include "bootstrap/cli/usage/program_words.h"
#include "bootstrap/cli/usage/usage_problem.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/process/standard_streams.h"
#include "comm/base/deadline.h"
#include "comm/log/log.h"

namespace muster::cli {
namespace {

constexpr std::string_view kPrograms = "Start programs";
constexpr std::string_view kMaps = "Maps: a program for each of many items";
constexpr std::string_view kFindOut = "Find out";
constexpr std::string_view kTools = "Tools";

constexpr CommandRow kCommands[] = {
    {"run", kPrograms, "Run a program as the ranks that a launcher has started", AddRunCommand},
    {"launch", kPrograms, "Start the ranks of a program here, or on machines by ssh", AddLaunchCommand},
    {"once", kPrograms, "Run a program once, or once on each node", AddOnceCommand},
    {"map", kMaps, "Run a program for each item, shared among the ranks", AddMapCommand},
    {"journal", kMaps, "Print the results and failures of a map", AddJournalCommand},
    {"resolve", kFindOut, "Print the rank of this process, and the reasons", AddResolveCommand},
    {"check", kFindOut, "Form the group and name nodes that are slow or unreachable", AddCheckCommand},
    {"status", kFindOut, "Print the state of a running group, rank by rank", AddStatusCommand},
    {"doctor", kFindOut, "Examine this machine, without a job", AddDoctorCommand},
    {"config", kFindOut, "Print the effective configuration", AddConfigCommand},
    {"secret", kTools, "Print a fresh job secret", AddSecretCommand},
    {"store", kTools, "Serve a store for clients of PyTorch's TCPStore", AddStoreCommand},
    {"help", kTools, "Print the manual of a command", AddHelpCommand},
};

bool WantsJson(int argc, char** argv) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) return true;
  }
  return false;
}

// `command`: nullptr if there is none.
Error Problem(const CLI::App& app, const CLI::App* command, const CLI::ParseError& error) {
  BadCommandLine line{"", app.remaining(true), error.what(), {}};
  if (command == nullptr) {
    for (const CommandRow& row : kCommands) line.names.push_back(row.name);
    return UsageProblem(line);
  }
  line.command = command->get_name();
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) line.names.emplace_back(name);
  }
  return UsageProblem(line);
}

// Of the command's name: behind --color, if that comes first.
int CommandIndex(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]).starts_with("--color=")) return 2;
  return argc > 1 && std::strcmp(argv[1], "--color") == 0 ? 3 : 1;
}

// In the order of CLI11: the last one first. `at`: the index of the command's name.
Result<std::vector<std::string>> WordsOf(const CLI::App& command, int at, int argc, char** argv) {
  std::vector<std::string> words(argv + at + 1, argv + argc);
  const auto takes_value = [&command](const std::string& name) -> std::optional<bool> {
    const CLI::Option* option = command.get_option_no_throw(name);
    return option == nullptr ? std::nullopt : std::optional(option->get_items_expected_max() > 0);
  };
  const std::string name = command.get_name();
  const OwnOptions own{name, takes_value};
  if (MayHaveHabits(words)) {
    const Environment environment = Environment::OfThisProcess();
    MUSTER_TRY(words, TranslateHabits(own, words, environment.Get("PATH").value_or("")));
  }
  words = DivideEmptyValues(own, std::move(words));
  MUSTER_CHECK(CheckDashes(own, words));
  if (command.get_option_no_throw(kProgramArgument) != nullptr) words = MarkProgram(own, std::move(words));
  words.insert(words.begin(), argv + 1, argv + at + 1);
  std::ranges::reverse(words);
  return words;
}

Result<int> ShowVersion() {
  MUSTER_CHECK(process::Print(BuildFacts() + "\n"));
  return 0;
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) return StatusOf(ShowVersion());
  CLI::App app("", "muster");
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", BuildFacts);
  std::string colour;
  app.add_option("--color", colour);
  // The command at hand alone: to describe the options of all others would be a good part of the cost of `muster run`.
  const int at = CommandIndex(argc, argv);
  const CommandRow* row = argc > at ? FindCommand(argv[at]) : nullptr;
  CLI::App* command = row == nullptr ? nullptr : app.add_subcommand(std::string(row->name));
  std::optional<Options> options;
  if (command != nullptr) options.emplace(*command);
  Run run;
  try {
    if (command == nullptr) {
      app.parse(argc, argv);
    } else {
      AddHelpOptions(*options);
      row->add(*options, run);
      Result<std::vector<std::string>> words = WordsOf(*command, at, argc, argv);
      if (!words) return ReportError(words.error(), WantsJson(argc, argv));
      app.parse(*std::move(words));
    }
  } catch (const CLI::CallForHelp&) {
    const std::string own = options ? ColourOf(*options) : "";
    return StatusOf(ShowHelp(row == nullptr ? "" : row->name, own.empty() ? colour : own));
  } catch (const CLI::CallForVersion&) {
    return StatusOf(ShowVersion());
  } catch (const CLI::ParseError& error) {
    return ReportError(Problem(app, command, error), WantsJson(argc, argv));
  }
  return run();
}

// The output of a command may be all its work: a full disk is a failure.
int WithOutputWritten(int status) {
  if (process::OutputHasFailed()) return status;  // the command has reported it
  const Status written = process::FlushOutput();
  return written ? status : ReportError(written.error());
}

// Standard error that cannot be written, a full file or a pipe without a reader, does not change the exit status.
void WriteLastLines() {
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  FlushLog(Deadline::After(kLastLinesWithin));
}

}  // namespace

std::span<const CommandRow> Commands() { return kCommands; }

const CommandRow* FindCommand(std::string_view name) {
  const auto* found = std::ranges::find(kCommands, name, &CommandRow::name);
  return found == std::end(kCommands) ? nullptr : found;
}

}  // namespace muster::cli

int main(int argc, char** argv) {
  muster::process::OccupyStandardStreams();
  // A parent may have ignored it: the kernel would then drop the exit status of every child.
  signal(SIGCHLD, SIG_DFL);
  const int status = muster::cli::WithOutputWritten(muster::cli::Main(argc, argv));
  muster::cli::WriteLastLines();
  return status;
}
