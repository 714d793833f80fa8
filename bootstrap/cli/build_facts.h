#pragma once

#include <string>

namespace muster::cli {

// What `muster --version` prints: version, commit and its date, platform, features.
std::string BuildFacts();

}  // namespace muster::cli
