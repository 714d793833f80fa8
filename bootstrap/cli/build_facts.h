#pragma once

#include <string>

namespace muster::cli {

// The output of `muster --version`: version, commit and its date, platform, features.
std::string BuildFacts();

}  // namespace muster::cli
