// Flag > environment > file > default: makes one Config of them. Reads the file and those that it includes, nothing
// else: no environment, no globals.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/config/config.h"
#include "comm/base/error.h"

namespace muster::config {

// The text of a configuration's file.
using FileReader = std::function<Result<std::string>(const std::filesystem::path&)>;
Result<std::string> ReadConfigFile(const std::filesystem::path& file);

// `file`: YAML, at most 1 MiB, a regular file; absent: none. Relative paths are as in open(2). `environment`:
// NAME, VALUE. MUSTER_TIMEOUTS_COLLECTIVE is the key timeouts.collective; every other name is ignored.
// `sets`: "timeouts.collective=1h" as after --set; of two for one key the later wins. A list or map
// (run.command, run.env) replaces the one below it whole; in `environment` and `sets` it is YAML flow text:
// "[python, -m, lmms_eval]". At most 64 files are read: `file`, and those of its `include:` before it.
//
// Error: kConfiguration; the message begins with file:line:column, the variable or the flag, and an unknown
// key names the nearest valid one. If two keys exclude each other it names both, with their values and origins.
// Blocks as long as reading the file does.
Result<EffectiveConfig> LoadConfig(const std::optional<std::filesystem::path>& file,
                                   const std::vector<std::pair<std::string, std::string>>& environment,
                                   const std::vector<std::string>& sets,
                                   const FileReader& read = ReadConfigFile);

// The same for YAML text alone, which a supervisor passes to its programs. `name` is the file's name in
// messages. The supervisor may be of another release: an unknown key is a warning, and is ignored. It can
// include no files.
Result<EffectiveConfig> LoadConfigText(const std::string& text, const std::string& name);

}  // namespace muster::config
