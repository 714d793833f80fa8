// Values of flags as users write them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/address.h"
#include "comm/base/error.h"

namespace muster::cli {

// --listen: HOST, HOST:PORT, [::1]:PORT. Port 0 is one of the kernel's choice. `default_port` if the text
// names none. Error: kUsage, names the text.
Result<Endpoint> ParseListenAddress(std::string_view text, uint16_t default_port);

// "0-3,7": ascending, each once; at most 4096. Error: kUsage, names `flag` and the text.
Result<std::vector<int>> ParseRankList(std::string_view text, std::string_view flag);

}  // namespace muster::cli
