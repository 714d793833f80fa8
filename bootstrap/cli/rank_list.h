// "0-3,7" on a command line.
#pragma once

#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::cli {

// Ascending, each once; at most 4096. Error: kUsage, names `flag` and the text.
Result<std::vector<int>> ParseRankList(std::string_view text, std::string_view flag);

}  // namespace muster::cli
