#include <fmt/core.h>

#include "bootstrap/config/generated.h"
#include "bootstrap/config/table.h"
#include "bootstrap/config/text/placeholders.h"
#include "bootstrap/config/text/quote.h"
#include "bootstrap/config/value.h"

namespace muster::config {
namespace {

constexpr std::string_view kHead = R"(# Every key of the configuration

Generated from bootstrap/config/table.cc. A value comes from `--set key=value`, else from the environment variable, else
from the file, else it is the default. Durations are written `500ms`, `30s`, `10m`, `16h40m`; a bare number is seconds.
Keys marked *group* must be the same on every rank: ranks that differ do not form a group, and the error names the key.

| key | type | default | all ranks | what it is | environment |
|---|---|---|---|---|---|
)";

constexpr std::string_view kPlaceholderHead = R"(
## In the values of run.env

`$${` stands for `${` itself, every other `$` for itself. A name that is not in this table is an error.

| in a value | becomes |
|---|---|
)";

std::string TypeOf(const Key& key) {
  if (!key.choices.empty()) {
    return Joined(key.choices, " ", [](std::string_view choice) { return fmt::format("`{}`", choice); });
  }
  return TypeWithLimit(key);
}

}  // namespace

std::string ReferenceText() {
  const Config defaults;
  std::string text(kHead);
  for (const Key& key : Keys()) {
    const std::string variable = VariableName(key);
    text += fmt::format("| `{}` | {} | `{}` | {} | {}{} | {} |\n", key.path, TypeOf(key),
                        YamlValue(key, defaults), key.group_wide ? "group" : "", key.doc,
                        SpecialWordsText(key, "`"), variable.empty() ? "" : fmt::format("`{}`", variable));
  }
  text += kPlaceholderHead;
  for (const Placeholder& placeholder : Placeholders()) {
    text += fmt::format("| `${{{}}}` | {} |\n", placeholder.name, placeholder.means);
  }
  return text;
}

}  // namespace muster::config
