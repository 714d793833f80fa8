// The program itself, and the one that a shell finds by its name.
#pragma once

#include <string>

#include "bootstrap/doctor/finding.h"
#include "bootstrap/environment/environment.h"

namespace muster::doctor {

struct ProgramFacts {
  std::string path;     // of this process's program; empty: not known (no /proc)
  std::string in_path;  // the first `muster` in PATH; empty: none
  bool same = false;    // both are one file
};

ProgramFacts LookAtProgram(const Environment& environment);

// To the subject `system`.
void AddProgram(const ProgramFacts& facts, Finding& finding);

}  // namespace muster::doctor
