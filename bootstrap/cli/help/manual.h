// The commands as data. The help page, `muster help --json`, and with it the man pages, completions and the
// reference, are made from this; the options come from the definitions that also parse the command line.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/cli/usage/options.h"

namespace muster::cli {

using Run = std::function<int()>;

// Prose is paragraphs with an empty line between them, wrapped when it is shown; a line that begins with a space is
// kept as it is.
struct CommandText {
  std::string_view details;
  std::string_view examples;  // one a line: "COMMAND LINE", or "COMMAND LINE   # what it is for"
  std::string_view notes = {};
  std::string_view exit_status =
      {};  // one a line: "STATUS meaning"; the statuses of all commands are ExitStatuses()
};

struct CommandRow {
  std::string_view name;
  std::string_view group;    // of the first page
  std::string_view summary;  // one line in the imperative
  // Adds the options, and puts the work into `run`, which gives the exit status once they are parsed.
  CommandText (*add)(Options& options, Run& run);
};

// Groups of options, for Options::Under, in the order of a page.
inline constexpr const char* kProgram = "Program";
inline constexpr const char* kMeeting = "Ranks and addresses";
inline constexpr const char* kSettings = "Settings";
inline constexpr const char* kOutput = "Output";
inline constexpr const char* kAdvanced = "Advanced";

struct OptionManual {
  std::vector<std::string> names;  // "-c", "--config"; of a positional: empty
  std::string value;               // "FILE", "N", "rank0|all|none"; empty: takes none
  std::string text;
  bool repeatable = false;
  bool required = false;
};

struct OptionGroup {
  std::string title;
  std::vector<OptionManual> options;
};

struct CommandManual {
  std::string_view name;
  std::string_view group;
  std::string_view summary;
  std::string usage;
  std::vector<OptionManual> positionals;
  std::vector<OptionGroup> options;
  CommandText text;
};

// Describing all options costs time: called only for help.
CommandManual Describe(const CommandRow& row);

// --color, which every command has beside --help; not described.
void AddHelpOptions(const Options& options);
// The value of --color; empty if it is not given.
std::string ColourOf(const Options& options);

// The options of `muster` itself.
std::span<const OptionManual> TopOptions();

struct ExitMeaning {
  std::string_view status;  // "64"; "other"
  std::string_view meaning;
};
std::span<const ExitMeaning> ExitStatuses();

}  // namespace muster::cli
