#include "bootstrap/resolve/entry.h"

#include <fmt/core.h>

#include "bootstrap/resolve/assemble.h"

namespace muster::resolve {

std::string WhatToUnset(const Entry& a, const Entry& b) {
  for (const Entry* entry : {&a, &b}) {
    const std::string variable = RankVariable(*entry->candidate());
    if (entry->launcher->has_signature || variable.empty()) continue;
    return fmt::format("look for an \"export {}\" in the batch script or a profile and remove it", variable);
  }
  return "unset the wrong one";
}

void SetFirstVerdict(Entry& entry) {
  if (const auto* absent = std::get_if<Absent>(&entry.probed)) {
    entry.verdict = absent->leaked ? "leak" : "absent";
    entry.reason = absent->reason;
  } else if (const auto* incomplete = entry.incomplete()) {
    entry.verdict = "incomplete";
    entry.reason = incomplete->error.message;
  } else if (const auto* malformed = std::get_if<Malformed>(&entry.probed)) {
    entry.verdict = "malformed";
    entry.reason = malformed->error.message;
  } else {
    entry.verdict = "overruled";
    entry.reason = entry.role() == LauncherRole::kAlone ? "a world of one" : Describe(*entry.candidate());
  }
}

}  // namespace muster::resolve
