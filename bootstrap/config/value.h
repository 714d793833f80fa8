// One key's value: from YAML into a Config, and back to text.
#pragma once

#include <string>
#include <string_view>

#include "bootstrap/config/config.h"
#include "bootstrap/config/table.h"
#include "bootstrap/config/yaml_tree.h"
#include "comm/base/error.h"

namespace muster::config {

// Sets the key in `config`; on error leaves it unchanged. Error: kConfiguration; the message has the fault
// but not its place: "a duration is expected, not a list".
Status ReadValue(const Key& key, const YamlNode& value, Config& config);

// One line of YAML, in a form that does not depend on how it was written: "30m", "null", "[python, -m,
// lmms_eval]".
std::string YamlValue(const Key& key, const Config& config);

// The same as JSON: "30m" in quotes, null, true, lists and objects.
std::string JsonValue(const Key& key, const Config& config);

// How a key is called for a person: "a duration", "one of auto, nccl, socket".
std::string TypeName(const Key& key);

// For the reference: "a duration, at least 10ms".
std::string TypeWithLimit(const Key& key);

// For the reference: "; gloo is another name for socket", the words between two `quote`.
std::string SpecialWordsText(const Key& key, std::string_view quote);

// Whether the key may be null.
bool IsNullable(const Key& key);

// Whether the key is a list or a map, which is always written as YAML.
bool IsCollection(const Key& key);

}  // namespace muster::config
