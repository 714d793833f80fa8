// Writes a file that comes from the table of keys or of launchers:
// bazel run //bootstrap/config:generate -- schema > configs/schema.json
#include <cstdio>
#include <string>
#include <string_view>

#include "bootstrap/config/explain.h"
#include "bootstrap/config/generated.h"

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  std::string text;
  if (what == "schema") text = muster::config::SchemaText();
  if (what == "reference") text = muster::config::ReferenceText();
  if (what == "default") text = muster::config::DefaultYaml();
  if (what == "launchers") text = muster::config::LaunchersPage();
  if (text.empty()) {
    std::fputs("usage: generate schema|reference|default|launchers\n", stderr);
    return 64;
  }
  return std::fputs(text.c_str(), stdout) < 0 ? 71 : 0;
}
