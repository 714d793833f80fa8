#include "bootstrap/config/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "bootstrap/config/table.h"
#include "bootstrap/config/text/quote.h"
#include "bootstrap/config/value.h"

namespace muster::config {
namespace {

// Comments begin here, except after a value that is longer.
constexpr size_t kCommentColumn = 30;

// A comment behind # must stay on its line: file names may hold any byte.
std::string CommentText(std::string_view text) {
  std::string safe(text);
  std::ranges::replace_if(
      safe, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return safe;
}

std::string Line(const Key& key, const Config& config, std::string_view comment) {
  const std::string_view indent = SectionOf(key.path).empty() ? "" : "  ";
  const std::string entry = fmt::format("{}{}: {}", indent, NameOf(key.path), YamlValue(key, config));
  if (comment.empty()) return entry + "\n";
  return fmt::format("{:<{}}  # {}\n", entry, kCommentColumn, CommentText(comment));
}

// `comment_of`: Key -> text.
template <typename CommentOf>
std::string Yaml(const Config& config, CommentOf comment_of) {
  std::string text;
  std::string_view section;
  for (const Key& key : Keys()) {
    if (SectionOf(key.path) != section) {
      section = SectionOf(key.path);
      text += fmt::format("{}:\n", section);
    }
    text += Line(key, config, comment_of(key));
  }
  return text;
}

std::string DocOf(const Key& key) {
  if (key.choices.empty()) return std::string(key.doc);
  return fmt::format("[{}] {}", fmt::join(key.choices, " | "), key.doc);
}

}  // namespace

std::string ToYaml(const EffectiveConfig& effective, bool origins) {
  return Yaml(effective.config, [&](const Key& key) {
    return origins ? effective.origins.at(std::string(key.path)) : std::string();
  });
}

std::string ToJson(const EffectiveConfig& effective, bool origins) {
  std::string text = "{";
  std::string_view section;
  for (const Key& key : Keys()) {
    if (SectionOf(key.path) != section) {
      text += section.empty() ? "," : "},";
      section = SectionOf(key.path);
      text += fmt::format("{}:{{", JsonQuoted(section));
    } else if (text.size() > 1) {
      text += ",";
    }
    const std::string value = JsonValue(key, effective.config);
    text += fmt::format("{}:", JsonQuoted(NameOf(key.path)));
    if (origins) {
      text += fmt::format("{{\"value\":{},\"origin\":{}}}", value,
                          JsonQuoted(effective.origins.at(std::string(key.path))));
    } else {
      text += value;
    }
  }
  return text + "}}\n";
}

std::string DefaultYaml() {
  return "# Every key with its default. Generated from bootstrap/config/table.cc; what you leave out is as "
         "it stands here.\n"
         "# yaml-language-server: $schema=schema.json\n" +
         Yaml(Config{}, DocOf);
}

std::string GroupWideText(const Config& config) {
  const Config defaults;
  std::string text;
  for (const Key& key : Keys()) {
    if (!key.group_wide) continue;
    const std::string value = YamlValue(key, config);
    if (value != YamlValue(key, defaults)) text += fmt::format("{}={}\n", key.path, value);
  }
  return text;
}

}  // namespace muster::config
