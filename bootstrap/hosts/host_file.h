// The machines of `muster launch --hosts FILE`: a name on each line, as ssh takes it, and optionally the
// number of its ranks (as for mpirun and DeepSpeed):
//
//   alpha slots=8     # a comment
//   beta  slots=8
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::hosts {

struct HostFile {
  std::vector<std::string> hosts;
  std::optional<int> slots;  // of each

  friend bool operator==(const HostFile&, const HostFile&) = default;
};

// Error: kConfiguration with "FILE:LINE: "; a name twice, differing slots, no name at all.
Result<HostFile> ParseHostFile(std::string_view text, std::string_view file);

// The machine without ssh's additions: "alpha" of "user@alpha", "fd00::5" of "ssh://user@[fd00::5]:22".
std::string AddressOf(std::string_view host);

}  // namespace muster::hosts
