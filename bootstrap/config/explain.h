// The effective configuration as text, for `muster config`.
#pragma once

#include <string>

#include "bootstrap/config/config.h"

namespace muster::config {

// A YAML file with every key; loaded again it is the same Config. With `origins` a comment on each line has
// the origin of its value.
std::string ToYaml(const EffectiveConfig& effective, bool origins);

// {"launcher":"auto",...,"timeouts":{"collective":"1h",...}}; with `origins` each value is {"value":...,
// "origin":"..."}.
std::string ToJson(const EffectiveConfig& effective, bool origins);

// The keys that all ranks must agree on, as text in the rendezvous hello: the group-wide keys that differ
// from the defaults, in the order of the table ("timeouts.collective=1h\nrendezvous.auth=secret\n"). Usually
// empty. Two configurations are equal if and only if their texts are, so the root compares strings.
std::string GroupWideText(const Config& config);

// configs/default.yaml: every key with its default and what it is for.
std::string DefaultYaml();

}  // namespace muster::config
