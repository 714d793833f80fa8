// What all ranks must agree on before anything else happens, as text that travels in the rendezvous hello.
// Equal configurations give equal text and the other way round, so that the root compares strings.
#pragma once

#include <string>
#include <string_view>

#include "bootstrap/config/config.h"

namespace muster::config {

// "timeouts.collective=1h\nrendezvous.auth=secret\n": the group-wide keys that differ from the defaults, in
// the order of the table. Usually empty.
std::string GroupWideText(const Config& config);

// For two texts that differ: "timeouts.collective is 1h on MINE and 30m (the default) on THEIRS; ...". At
// most three keys, then how many more. `theirs` may come from a stranger: it is shown escaped and shortened.
// Empty where nothing differs.
std::string DescribeDifference(std::string_view mine, std::string_view theirs, std::string_view mine_name,
                               std::string_view theirs_name);

}  // namespace muster::config
