// The output of `muster check`: a table for a user, one JSON object for a program (../README.md has its
// names). Pure formatting.
#pragma once

#include <string>

#include "bootstrap/check/findings/evidence.h"
#include "bootstrap/check/findings/judge.h"

namespace muster::check {

// Up to 16 nodes have a line each; of more, only those that a finding names.
std::string CheckText(const Evidence& evidence, const Verdict& verdict);

// One line with a newline at its end.
std::string CheckJson(const Evidence& evidence, const Verdict& verdict);

// The figures to show of each node: those of the second measurement, if there was one.
const std::vector<NodeLinks>& LinksToShow(const Evidence& evidence);

}  // namespace muster::check
