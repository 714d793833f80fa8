// A map in the report of a run and in `muster status`. Pure.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "comm/map/state.h"

namespace muster::report {

using NodeOf = std::function<std::string(int rank)>;

// One object (README.md has its keys).
nlohmann::ordered_json MapJson(const map::MapState& map, const NodeOf& node_of);

// For users: some lines for any number of ranks, each with '\n'.
std::string MapText(const map::MapState& map, const NodeOf& node_of);

}  // namespace muster::report
