// configs/schema.json: for an editor to check and complete a configuration.
#pragma once

#include <string>

#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::config {

// JSON Schema 2020-12, from the table. The parser is stricter if a schema cannot express a rule: the shortest
// durations, the order within a range of ports, and the conditions between keys (checks.h).
std::string SchemaText(const resolve::LauncherTable& launchers = resolve::Launchers());

}  // namespace muster::config
