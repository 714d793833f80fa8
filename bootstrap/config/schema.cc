#include <fmt/core.h>

#include "bootstrap/config/generated.h"
#include "bootstrap/config/table.h"
#include "bootstrap/config/text/quote.h"
#include "bootstrap/config/value.h"

namespace muster::config {
namespace {

using TextMap = std::map<std::string, std::string>;
using TextList = std::vector<std::string>;

constexpr std::string_view kHead = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "muster configuration",
  "description": "Generated from bootstrap/config/table.cc.",
  "$defs": {
    "duration": {
      "anyOf": [
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": "^(\\d+(\\.\\d+)?|(\\d+(\\.\\d+)?d)?(\\d+(\\.\\d+)?h)?(\\d+(\\.\\d+)?m)?(\\d+(\\.\\d+)?s)?(\\d+(\\.\\d+)?ms)?(\\d+(\\.\\d+)?us)?(\\d+(\\.\\d+)?ns)?)$", "minLength": 1}
      ]
    },
    "scalar": {"type": ["string", "number", "boolean"]}
  },
)";

// --- The constraint of each type, without braces. Empty: the values are words. ---

std::string_view Constraint(const FieldOf<std::optional<std::string>>&) {
  return R"("type": ["string", "null"], "minLength": 1)";
}
std::string_view Constraint(const FieldOf<std::optional<Endpoint>>&) {
  return R"("type": ["string", "null"], "pattern": "^([^:/\\[\\]\\s]+|\\[[^/\\[\\]\\s]+\\]):[0-9]+$")";
}
std::string_view Constraint(const FieldOf<PortRange>&) {
  return R"("type": ["string", "integer"], "pattern": "^[0-9]+(-[0-9]+)?$", "minimum": 1, "maximum": 65535)";
}
std::string_view Constraint(const FieldOf<RunThreads>&) {
  return R"("anyOf": [{"enum": ["auto", "none"]}, {"type": "integer", "minimum": 1, "maximum": 65536}])";
}
std::string_view Constraint(const FieldOf<Duration>&) { return R"("$ref": "#/$defs/duration")"; }
std::string_view Constraint(const FieldOf<std::optional<Duration>>&) {
  return R"("anyOf": [{"$ref": "#/$defs/duration"}, {"type": "null"}])";
}
std::string_view Constraint(const FieldOf<int>&) {
  return R"("type": "integer", "minimum": 0, "maximum": 1000000)";
}
std::string_view Constraint(const FieldOf<MapItems>&) {
  return R"("anyOf": [{"type": ["string", "null"], "minLength": 1}, )"
         R"({"type": "array", "minItems": 1, "items": {"anyOf": [{"$ref": "#/$defs/scalar"}, )"
         R"({"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/scalar"}}]}}, )"
         R"({"type": "object", "minProperties": 1, "additionalProperties": {"anyOf": [{"$ref": "#/$defs/scalar"}, )"
         R"({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/scalar"}}]}}])";
}
std::string_view Constraint(const FieldOf<MapSlots>&) {
  return R"("type": ["integer", "object"], "minimum": 1, "maximum": 4096, "additionalProperties": false, )"
         R"("properties": {"count": {"type": "integer", "minimum": 1, "maximum": 4096}, )"
         R"("gpus": {"type": "integer", "minimum": 0, "maximum": 4096}, )"
         R"("cores": {"type": "integer", "minimum": 0, "maximum": 4096}})";
}
std::string_view Constraint(const FieldOf<Includes>&) {
  return R"("anyOf": [{"type": ["string", "null"], "minLength": 1}, )"
         R"({"type": "array", "items": {"type": "string", "minLength": 1}}])";
}
std::string_view Constraint(const FieldOf<bool>&) { return R"("type": "boolean")"; }
std::string_view Constraint(const FieldOf<TextList>&) {
  return R"("type": "array", "items": {"$ref": "#/$defs/scalar"})";
}
std::string_view Constraint(const FieldOf<TextMap>&) {
  return R"("type": "object", "propertyNames": {"pattern": "^[^=]+$"}, "additionalProperties": {"$ref": "#/$defs/scalar"})";
}
template <typename WordType>
requires std::is_enum_v<WordType> || std::is_same_v<WordType, std::string> std::string_view Constraint(
    const FieldOf<WordType>&) {
  return {};
}

// Of an enumeration; else those of the key `launcher`.
std::vector<std::string_view> WordsOf(const Key& key, const resolve::LauncherTable& launchers) {
  std::vector<std::string_view> words(key.choices.begin(), key.choices.end());
  if (words.empty()) {
    words = {"auto"};
    for (const resolve::Launcher* launcher : launchers) words.push_back(launcher->name);
  }
  for (const SpecialWord& special : key.special_words) {
    if (special.refusal.empty()) words.push_back(special.word);
  }
  return words;
}

std::string Property(const Key& key, std::string_view indent, const resolve::LauncherTable& launchers) {
  const Config defaults;
  std::string constraint(std::visit([](const auto& field) { return Constraint(field); }, key.field));
  if (constraint.empty())
    constraint = fmt::format(R"("enum": [{}])", Joined(WordsOf(key, launchers), ", ", JsonQuoted));
  return fmt::format("{}{}: {{{}, \"default\": {}, \"description\": {}}}", indent,
                     JsonQuoted(NameOf(key.path)), constraint, JsonValue(key, defaults), JsonQuoted(key.doc));
}

std::string Properties(std::string_view section, std::string_view indent,
                       const resolve::LauncherTable& launchers) {
  std::string text;
  for (const Key& key : Keys()) {
    if (SectionOf(key.path) != section) continue;
    text += (text.empty() ? "" : ",\n") + Property(key, indent, launchers);
  }
  return text;
}

}  // namespace

std::string SchemaText(const resolve::LauncherTable& launchers) {
  std::string text(kHead);
  text += "  \"type\": [\"object\", \"null\"],\n  \"additionalProperties\": false,\n  \"properties\": {\n";
  text += Properties("", "    ", launchers);
  for (const std::string_view section : Sections()) {
    text += fmt::format(
        ",\n    {}: {{\n      \"type\": [\"object\", \"null\"],\n      \"additionalProperties\": false,\n"
        "      \"properties\": {{\n{}\n      }}\n    }}",
        JsonQuoted(section), Properties(section, "        ", launchers));
  }
  return text + "\n  }\n}\n";
}

}  // namespace muster::config
