#include "bootstrap/cli/help/manual_json.h"

#include <nlohmann/json.hpp>

#include "bootstrap/config/table.h"
#include "bootstrap/config/text/placeholders.h"
#include "bootstrap/config/value.h"
#include "comm/base/parse.h"
#include "comm/base/version.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

Json OptionJson(const OptionManual& option) {
  return {{"names", option.names},
          {"value", option.value},
          {"text", option.text},
          {"repeatable", option.repeatable},
          {"required", option.required}};
}

Json OptionsJson(std::span<const OptionManual> options) {
  Json list = Json::array();
  for (const OptionManual& option : options) list.push_back(OptionJson(option));
  return list;
}

// Lines of "FIRST rest" as [["FIRST", "rest"]...], or with another separator.
Json Pairs(std::string_view lines, std::string_view separator, const char* first, const char* second) {
  Json list = Json::array();
  for (const std::string_view line : Split(lines, '\n')) {
    if (line.empty()) continue;
    const size_t at = line.find(separator);
    const bool split = at != std::string_view::npos;
    const std::string_view rest = split ? line.substr(at + separator.size()) : std::string_view{};
    std::string_view head = line.substr(0, at);
    while (head.ends_with(' ')) head.remove_suffix(1);
    list.push_back(Json{{first, head}, {second, rest}});
  }
  return list;
}

Json Command(const CommandManual& command) {
  Json groups = Json::array();
  for (const OptionGroup& group : command.options) {
    groups.push_back(Json{{"title", group.title}, {"options", OptionsJson(group.options)}});
  }
  return {{"name", command.name},
          {"group", command.group},
          {"summary", command.summary},
          {"usage", command.usage},
          {"details", command.text.details},
          {"positionals", OptionsJson(command.positionals)},
          {"option_groups", groups},
          {"notes", command.text.notes},
          {"exit_status", Pairs(command.text.exit_status, " ", "status", "meaning")},
          {"examples", Pairs(command.text.examples, "# ", "command", "purpose")}};
}

Json Keys() {
  const config::Config defaults;
  Json list = Json::array();
  for (const config::Key& key : config::Keys()) {
    Json words = Json::array();
    for (const config::SpecialWord& special : key.special_words) {
      words.push_back({{"word", special.word}, {"means", special.means}, {"refusal", special.refusal}});
    }
    list.push_back({{"path", key.path},
                    {"type", config::TypeName(key)},
                    {"choices", key.choices},
                    {"special_words", words},
                    {"minimum", key.minimum > Duration::zero() ? FormatDuration(key.minimum) : ""},
                    {"default", config::YamlValue(key, defaults)},
                    {"group_wide", key.group_wide},
                    {"variable", config::VariableName(key)},
                    {"text", key.doc}});
  }
  return list;
}

}  // namespace

std::string ManualJson(std::span<const CommandRow> commands) {
  Json manual = {{"version", kVersion}, {"options", OptionsJson(TopOptions())}};
  manual["commands"] = Json::array();
  for (const CommandRow& row : commands) manual["commands"].push_back(Command(Describe(row)));
  manual["exit_statuses"] = Json::array();
  for (const ExitMeaning& status : ExitStatuses()) {
    manual["exit_statuses"].push_back({{"status", status.status}, {"meaning", status.meaning}});
  }
  manual["keys"] = Keys();
  manual["placeholders"] = Json::array();
  for (const config::Placeholder& placeholder : config::Placeholders()) {
    manual["placeholders"].push_back({{"name", placeholder.name}, {"text", placeholder.means}});
  }
  return manual.dump(1) + "\n";
}

}  // namespace muster::cli
