#include "bootstrap/map/map_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/process/descendants.h"
#include "comm/base/printable.h"

namespace muster::map {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultOutput = "muster-map";
constexpr const char* kDefaultJournal = "journal";  // in OUTPUT: no item has this name (DirectoryNameOf)
constexpr uint64_t kMostShown = 10;
constexpr Duration kDiskTime = std::chrono::minutes(1);
constexpr auto kOwnVariables =
    std::to_array<std::string_view>({"MUSTER_ITEM", "MUSTER_ITEM_INDEX", "MUSTER_ITEM_KEY", "MUSTER_ITEM_DIR",
                                     "MUSTER_ITEM_ATTEMPT", "MUSTER_SLOT", "PWD"});

std::string ShellLine(const std::vector<std::string>& words) {
  return config::Joined(words, " ", config::ShellQuoted);
}

// Of the command as it is written: a resumed map must have the same.
Digest DigestOfWords(const std::vector<std::string>& words) {
  KeyDigest digest;
  for (const std::string& word : words) digest.Add(word);
  return digest.Finish();
}

Status CheckVariables(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    if (std::ranges::find(kOwnVariables, name) == kOwnVariables.end()) continue;
    return WithHint(Fail(Code::kConfiguration, "run.env sets {}, which muster map sets itself", name),
                    "give it another name");
  }
  return {};
}

// Relative paths are a mistake that only shows in each item's error: the program runs elsewhere.
void WarnOfRelativePaths(MapPlan& plan) {
  for (size_t i = 1; i < plan.command.size(); ++i) {
    const std::string& word = plan.command[i];
    if (!plan.attempt.command[i].IsPlain() || word.empty() || word.starts_with('-') || word.starts_with('/'))
      continue;
    std::error_code ignored;
    if (!fs::is_regular_file(word, ignored)) continue;
    plan.warnings.push_back(fmt::format(
        "the program of each item runs in a directory of its own, where {0} is not found; write {{pwd}}/{0}",
        word));
  }
}

Status ReadTemplates(const config::Config& config, MapPlan& plan) {
  MUSTER_TRY(plan.attempt.command, ParseTemplates("the command", plan.command, *plan.items));
  MUSTER_TRY(plan.attempt.expect, ParseTemplates("map.expect", config.map.expect, *plan.items));
  MUSTER_CHECK(CheckVariables(config.run.env));
  for (const auto& [name, value] : config.run.env) {
    MUSTER_TRY(ItemTemplate parsed, ItemTemplate::Parse("run.env: " + name, value, *plan.items, true));
    plan.attempt.variables.emplace_back(name, std::move(parsed));
  }
  return {};
}

std::string Absolute(const std::string& directory, const std::string& path) {
  return (fs::path(directory) / path).lexically_normal().string();
}

// Every other name in OUTPUT may be an item's, or is muster's own.
Status CheckJournal(const std::string& journal, const std::string& output) {
  const fs::path inside = fs::path(journal).lexically_relative(output);
  if (*inside.begin() == ".." || *inside.begin() == kDefaultJournal) return {};
  return WithHint(
      Fail(Code::kConfiguration, "the journal {} is in map.output, whose names are those of items", journal),
      fmt::format("choose another directory for map.journal, or leave it out: the default is {}/{}", output,
                  kDefaultJournal));
}

Status ReadPaths(const config::MapOptions& map, MapPlan& plan) {
  std::error_code error;
  plan.attempt.working_directory = fs::current_path(error).string();
  if (error) {
    return WithHint(Fail(Code::kSystem, "the working directory cannot be found: {}", error.message()),
                    "the working directory was removed: change to one that exists");
  }
  plan.attempt.output = Absolute(plan.attempt.working_directory, map.output.value_or(kDefaultOutput));
  while (plan.attempt.output.size() > 1 && plan.attempt.output.ends_with('/')) plan.attempt.output.pop_back();
  plan.options.journal =
      Absolute(plan.attempt.working_directory,
               map.journal.value_or(fmt::format("{}/{}", plan.attempt.output, kDefaultJournal)));
  return CheckJournal(plan.options.journal, plan.attempt.output);
}

// A rank's own values are still unknown.
OwnValues Unfilled(const MapPlan& plan, const std::string& key) {
  OwnValues own;
  for (const OwnName& name : OwnNames()) own[std::string(name.name)] = fmt::format("{{{}}}", name.name);
  own["dir"] = fmt::format("{}/{}", plan.attempt.output, DirectoryNameOf(key));
  own["pwd"] = plan.attempt.working_directory;
  return own;
}

struct Shown {
  SourceItem item;
  std::vector<std::string> command;
};

Result<std::vector<Shown>> FirstItems(const MapPlan& plan) {
  std::vector<Shown> first;
  for (uint64_t i = 0; i < std::min(kMostShown, plan.items->size()); ++i) {
    MUSTER_TRY(SourceItem item, plan.items->Read(i));
    std::vector<std::string> command = FillAll(plan.attempt.command, item, Unfilled(plan, item.key));
    first.push_back({std::move(item), std::move(command)});
  }
  return first;
}

std::string JsonOf(const MapPlan& plan, const std::vector<Shown>& first) {
  nlohmann::ordered_json object;
  object["items"] = plan.items->size();
  object["output"] = plan.attempt.output;
  object["journal"] = plan.options.journal;
  object["retries"] = plan.options.retries;
  object["first"] = nlohmann::ordered_json::array();
  for (const Shown& shown : first) {
    nlohmann::ordered_json entry;
    entry["index"] = shown.item.index;
    entry["key"] = shown.item.key;
    entry["command"] = shown.command;
    object["first"].push_back(std::move(entry));
  }
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<MapPlan> MakeMapPlan(const config::EffectiveConfig& effective,
                            const std::vector<std::string>& command) {
  const config::Config& config = effective.config;
  MapPlan plan;
  plan.command = command.empty() ? config.map.command : command;
  if (plan.command.empty()) {
    return WithHint(Fail(Code::kUsage, "nothing to run: no CMD, and the configuration has no map.command"),
                    "muster map --items FILE -- CMD {item}");
  }
  MUSTER_TRY(plan.items, ItemSource::Open(config.map.items, effective.origins.at("map.items"),
                                          config.map.item_class.value_or("")));
  MUSTER_CHECK(ReadTemplates(config, plan));
  MUSTER_CHECK(ReadPaths(config.map, plan));
  plan.attempt.timeout = config.map.timeout;
  plan.attempt.grace = config.run.grace;
  plan.identity = {plan.items->size(), plan.items->keys(), DigestOfWords(plan.command),
                   ShellLine(plan.command)};
  plan.options.retries = config.map.retries;
  plan.options.retry_poisoned = config.map.retry_failed;
  plan.options.classes = plan.items->classes();
  // Until then the program may be at work, and the disk may store what it has written.
  if (config.map.timeout) plan.options.timeout = *config.map.timeout + config.run.grace + kDiskTime;
  plan.options.end_children = [] {
    static_cast<void>(process::KillDescendants(Deadline::After(std::chrono::seconds(1))));
  };
  WarnOfRelativePaths(plan);
  return plan;
}

Result<std::string> DescribePlan(const MapPlan& plan, bool json) {
  MUSTER_TRY(const std::vector<Shown> first, FirstItems(plan));
  if (json) return JsonOf(plan, first);
  std::string text = fmt::format("{} items; results in {}, journal {}\n", plan.items->size(),
                                 plan.attempt.output, plan.options.journal);
  for (const Shown& shown : first)
    text += fmt::format("{}: {}\n", Printable(shown.item.key), ShellLine(shown.command));
  if (plan.items->size() > first.size())
    text += fmt::format("and {} more\n", plan.items->size() - first.size());
  return text;
}

}  // namespace muster::map
