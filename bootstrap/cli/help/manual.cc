#include "bootstrap/cli/help/manual.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

namespace muster::cli {
namespace {

constexpr std::array<std::string_view, 5> kGroups = {kProgram, kMeeting, kSettings, kOutput, kAdvanced};

constexpr const char* kHelpText = "print this page and exit";
constexpr const char* kColourText =
    "colour in help pages; auto: on a terminal, unless NO_COLOR is set or TERM is dumb";
constexpr const char* kColours = "auto|always|never";

constexpr auto kExitStatuses = std::to_array<ExitMeaning>({
    {"0", "success: all programs exited with 0"},
    {"64", "the command line is wrong, or this process is in an allocation and none of its ranks"},
    {"65", "the environment is malformed or contradicts itself"},
    {"69", "a rank was lost"},
    {"70", "an internal error of muster"},
    {"71", "the operating system refused a request"},
    {"75", "a deadline has passed; the missing ranks are named"},
    {"76", "the ranks disagree, for example on the configuration; or the journal is that of another map"},
    {"77", "authentication failed"},
    {"78", "the configuration is wrong"},
    {"79", "all programs exited with 0, but a file of run.expect is missing, or items of a map failed"},
    {"80", "the time is up and items of a map are left; the same command continues with them"},
    {"other", "the exit status of the first program that failed; 128+N if signal N ended it"},
});

OptionManual Read(const CLI::Option& option) {
  OptionManual manual;
  for (const std::string& name : option.get_snames()) manual.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) manual.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) manual.value = option.get_type_name();
  if (option.get_positional()) manual.value = option.get_name(true);
  manual.text = option.get_description();
  // CLI11 gives a list of words no limit: a program and its arguments, or an option that may come again.
  manual.repeatable = option.get_items_expected_max() > 1 ||
                      option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  manual.required = option.get_required();
  return manual;
}

std::string UsageOf(const CommandManual& manual) {
  std::string usage = "muster " + std::string(manual.name) + " [OPTION...]";
  for (const OptionManual& positional : manual.positionals) {
    const std::string what = positional.value == "CMD"
                                 ? "-- CMD [ARG...]"
                                 : positional.value + (positional.repeatable ? "..." : "");
    usage += positional.required ? " " + what : " [" + what + "]";
  }
  return usage;
}

}  // namespace

void AddHelpOptions(const Options& options) {
  options.command().add_option("--color")->type_name(kColours)->check(
      CLI::IsMember({"auto", "always", "never"}).description(""));
}

std::string ColourOf(const Options& options) {
  const CLI::Option* colour = options.command().get_option("--color");
  return colour->count() > 0 ? colour->results().back() : std::string();
}

CommandManual Describe(const CommandRow& row) {
  CLI::App command("", std::string(row.name));
  command.set_help_flag("-h,--help", kHelpText)->group(kAdvanced);
  command.add_option("--color", kColourText)->type_name(kColours)->group(kAdvanced);
  Options options(command);
  Run unused;
  CommandManual manual{row.name, row.group, row.summary, {}, {}, {}, row.add(options, unused)};
  for (const std::string_view group : kGroups) manual.options.push_back({std::string(group), {}});
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      manual.positionals.push_back(Read(*option));
      continue;
    }
    const auto group = std::ranges::find(manual.options, option->get_group(), &OptionGroup::title);
    (group == manual.options.end() ? manual.options.back() : *group).options.push_back(Read(*option));
  }
  // The page's own options are added first and shown last.
  std::vector<OptionManual>& last = manual.options.back().options;
  std::ranges::rotate(last, last.begin() + 2);
  std::erase_if(manual.options, [](const OptionGroup& group) { return group.options.empty(); });
  manual.usage = UsageOf(manual);
  return manual;
}

std::span<const OptionManual> TopOptions() {
  static const auto& options = *new std::vector<OptionManual>{
      {{"-h", "--help"}, "", "print the first page and exit", false, false},
      {{"-V", "--version"}, "", "print the version, commit, date and features, and exit", false, false},
      {{"--color"}, kColours, kColourText, false, false},
  };
  return options;
}

std::span<const ExitMeaning> ExitStatuses() { return kExitStatuses; }

}  // namespace muster::cli
