#include "bootstrap/cli/help/key_page.h"

#include <fmt/format.h>

#include "bootstrap/config/value.h"

namespace muster::cli {
namespace {

constexpr size_t kDefaultColumn = 28;  // behind the longest path

std::string Line(std::string_view name, std::string_view text) {
  return fmt::format("  {:<10}{}\n", name, text);
}

}  // namespace

std::string KeysPage(std::string_view section, const Style& style) {
  const config::Config defaults;
  std::string page = "Keys of the configuration and their defaults (muster help KEY explains one)\n\n";
  for (const config::Key& key : config::Keys()) {
    if (!section.empty() && config::SectionOf(key.path) != section) continue;
    const std::string gap(kDefaultColumn - key.path.size(), ' ');
    page += fmt::format("  {}{}{}\n", style.Strong(key.path), gap, config::YamlValue(key, defaults));
  }
  return page;
}

std::string KeyPage(const config::Key& key, const Style& style) {
  const std::string variable = config::VariableName(key);
  std::string page =
      fmt::format("{}\n\n{}\n", style.Strong(key.path),
                  Wrapped(std::string(key.doc) + config::SpecialWordsText(key, ""), 2, style.width));
  page += Line("Type", config::TypeWithLimit(key));
  page += Line("Default", config::YamlValue(key, config::Config{}));
  if (!variable.empty()) page += Line("Flag", fmt::format("--set {}=VALUE", key.path));
  if (!variable.empty()) page += Line("Variable", variable);
  const std::string_view section = config::SectionOf(key.path);
  page += Line("File", section.empty() ? fmt::format("{}: VALUE", key.path)
                                       : fmt::format("{}: {{{}: VALUE}}", section, config::NameOf(key.path)));
  if (key.group_wide) page += Line("Ranks", "all have the same value");
  return page;
}

}  // namespace muster::cli
