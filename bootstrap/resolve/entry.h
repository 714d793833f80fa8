// A launcher among those that detection compares: what its probe found, and the verdict so far.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "bootstrap/environment/candidate.h"
#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::resolve {

struct Entry {
  const Launcher* launcher;
  Probed probed;
  std::string verdict;
  std::string reason;

  std::string_view name() const { return launcher->name; }
  LauncherRole role() const { return launcher->role; }
  const Candidate* candidate() const { return std::get_if<Candidate>(&probed); }
  const Incomplete* incomplete() const { return std::get_if<Incomplete>(&probed); }
  bool leaked() const {
    const auto* absent = std::get_if<Absent>(&probed);
    return absent != nullptr && absent->leaked;
  }
};

// The result of a probe alone; the candidates' verdicts come later.
void SetFirstVerdict(Entry& entry);

// A hint for two candidates that contradict each other: the variable that users also set by hand is the most likely cause.
std::string WhatToUnset(const Entry& a, const Entry& b);

}  // namespace muster::resolve
