// --listen as a person writes it: HOST, HOST:PORT, [::1]:PORT. Port 0 is one of the kernel's choice.
#pragma once

#include <cstdint>
#include <string_view>

#include "comm/address.h"
#include "comm/base/error.h"

namespace muster::cli {

// `default_port` where the text names none. Error: kUsage, names the text.
Result<Endpoint> ParseListenAddress(std::string_view text, uint16_t default_port);

}  // namespace muster::cli
