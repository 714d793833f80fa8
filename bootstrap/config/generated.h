// The texts of generate_main.cc that the product does not need, from the tables of keys and of launchers.
#pragma once

#include <string>

#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::config {

// configs/schema.json, for an editor: JSON Schema 2020-12. The parser is stricter if a schema cannot express a rule:
// the shortest durations, the order within a range of ports, and the conditions between keys (load.cc).
std::string SchemaText(const resolve::LauncherTable& launchers = resolve::Launchers());

// configs/REFERENCE.md: every key for a person.
std::string ReferenceText();

// LAUNCHERS.md: the launchers, the rendezvous of their ranks and their variables, for users.
std::string LaunchersPage(const resolve::LauncherTable& launchers = resolve::Launchers());

}  // namespace muster::config
