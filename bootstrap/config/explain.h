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

// What all ranks must agree on, as text that travels in the rendezvous hello: the group-wide keys that differ
// from the defaults, in the order of the table ("timeouts.collective=1h\nrendezvous.auth=secret\n"). Usually
// empty. Equal configurations give equal text and the other way round, so that the root compares strings.
std::string GroupWideText(const Config& config);

// configs/default.yaml: every key with its default and what it is for.
std::string DefaultYaml();

}  // namespace muster::config
