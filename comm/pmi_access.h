// Access of this process to the PMI server of its launcher. A value.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

enum class PmiVersion : uint8_t { kOne, kTwo };

// The launcher's settings for this process.
struct PmiAccess {
  int fd = -1;  // PMI_FD
  PmiVersion version = PmiVersion::kOne;
  int rank = 0;     // PMI_RANK
  std::string job;  // PMI_JOBID; for PMI-2

  friend bool operator==(const PmiAccess&, const PmiAccess&) = default;
};

}  // namespace muster
