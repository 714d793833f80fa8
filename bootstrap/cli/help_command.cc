// muster help: the first page, the page of a command, or the whole manual as JSON.
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/cli/help/key_page.h"
#include "bootstrap/cli/help/manual_json.h"
#include "bootstrap/cli/help/page.h"
#include "bootstrap/config/table.h"
#include "bootstrap/config/text/nearest.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/process/standard_streams.h"

namespace muster::cli {
namespace {

constexpr std::string_view kExitStatusTopic = "exit-status";
constexpr std::string_view kKeysTopic = "keys";

constexpr CommandText kText = {
    .details =
        "Without a topic it prints all commands. A topic is a command, exit-status, keys (all keys of the "
        "configuration), a section of keys (timeouts) or a key.",
    .examples =
        "muster help run\n"
        "muster help exit-status\n"
        "muster help timeouts.rendezvous\n"
        "muster help --json   # every command, option and key, for programs",
};

Result<Style> StyleFor(std::string_view colour) {
  const Environment environment = Environment::OfThisProcess();
  const bool no_color = !environment.Get("NO_COLOR").value_or("").empty();
  const std::string_view term = environment.Get("TERM").value_or("");
  if (colour.empty() || colour == "auto") return StyleOfStandardOutput(ColourChoice::kAuto, no_color, term);
  if (colour == "always") return StyleOfStandardOutput(ColourChoice::kAlways, no_color, term);
  if (colour == "never") return StyleOfStandardOutput(ColourChoice::kNever, no_color, term);
  return Fail(Code::kUsage, "--color \"{}\" is not one of auto, always, never", colour);
}

Error NoTopic(std::string_view topic) {
  std::vector<std::string_view> names = {kExitStatusTopic, kKeysTopic};
  for (const CommandRow& command : Commands()) names.push_back(command.name);
  for (const config::Key& key : config::Keys()) names.push_back(key.path);
  const std::string_view nearest = config::Nearest(topic, names);
  return {Code::kUsage,
          fmt::format("muster help has no topic \"{}\"{}", topic,
                      nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)),
          "muster help lists the commands"};
}

Result<std::string> PageOf(std::string_view topic, const Style& style) {
  if (topic.empty()) return FirstPage(Commands(), style);
  if (topic == kExitStatusTopic) return ExitStatusPage(style);
  if (topic == kKeysTopic) return KeysPage("", style);
  if (const CommandRow* row = FindCommand(topic)) return CommandPage(Describe(*row), style);
  if (const config::Key* key = config::FindKey(topic)) return KeyPage(*key, style);
  if (config::IsSection(topic)) return KeysPage(topic, style);
  return Fail(NoTopic(topic));
}

Result<int> ShowManual() {
  MUSTER_CHECK(process::Print(ManualJson(Commands())));
  return 0;
}

}  // namespace

Result<int> ShowHelp(std::string_view topic, std::string_view colour) {
  MUSTER_TRY(const Style style, StyleFor(colour));
  MUSTER_TRY(const std::string page, PageOf(topic, style));
  MUSTER_CHECK(process::Print(page));
  return 0;
}

CommandText AddHelpCommand(Options& options, Run& run) {
  const auto topic = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  options.Under(kOutput);
  options.Positional("TOPIC", *topic, "a command, exit-status, keys, or a key of the configuration");
  options.Flag("--json", *json, "print the manual of all commands and keys as one JSON object");
  run = [&options, topic, json] {
    return StatusOf(*json ? ShowManual() : ShowHelp(*topic, ColourOf(options)));
  };
  return kText;
}

}  // namespace muster::cli
