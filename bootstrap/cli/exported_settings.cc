#include "bootstrap/cli/exported_settings.h"

#include <filesystem>

#include "bootstrap/config/table.h"

namespace muster::cli {

void ExportSettings(const join::StartOptions& asked, run::Variables& variables) {
  if (asked.config_file) {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::absolute(*asked.config_file, error);
    variables["MUSTER_CONFIG"] = error ? *asked.config_file : file.string();
  }
  for (const std::string& set : asked.sets) {
    const size_t equals = set.find('=');
    const config::Key* key = config::FindKey(set.substr(0, equals));
    if (key == nullptr || config::SectionOf(key->path) == "run") continue;
    variables[config::VariableName(*key)] = set.substr(equals + 1);
  }
}

}  // namespace muster::cli
