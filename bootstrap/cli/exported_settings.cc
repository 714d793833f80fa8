#include "bootstrap/cli/exported_settings.h"

#include <filesystem>

#include "bootstrap/config/table.h"

namespace muster {

void ExportSettings(const StartOptions& asked, Variables& variables) {
  if (asked.config_file) {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::absolute(*asked.config_file, error);
    variables["MUSTER_CONFIG"] = error ? *asked.config_file : file.string();
  }
  for (const std::string& set : asked.sets) {
    const size_t equals = set.find('=');
    const Key* key = FindKey(set.substr(0, equals));
    if (key == nullptr || SectionOf(key->path) == "run") continue;
    variables[VariableName(*key)] = set.substr(equals + 1);
  }
}

}  // namespace muster
