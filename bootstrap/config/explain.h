// The effective configuration as text, for `muster config`.
#pragma once

#include <string>

#include "bootstrap/config/config.h"

namespace muster::config {

// A YAML file with every key; loaded again it is the same Config. With `origins` each line says where its
// value came from in a comment.
std::string ToYaml(const EffectiveConfig& effective, bool origins);

// {"launcher":"auto",...,"timeouts":{"collective":"1h",...}}; with `origins` each value is {"value":...,
// "origin":"..."}.
std::string ToJson(const EffectiveConfig& effective, bool origins);

// configs/default.yaml: every key with its default and what it is for.
std::string DefaultYaml();

}  // namespace muster::config
