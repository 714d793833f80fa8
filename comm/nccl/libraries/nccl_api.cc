#include "comm/nccl/libraries/nccl_api.h"

#include <fmt/core.h>

namespace muster::nccl {

bool NcclVersion::AtLeast(const NcclVersion& least) const {
  if (major != least.major) return major > least.major;
  if (minor != least.minor) return minor > least.minor;
  return patch >= least.patch;
}

std::string ToString(NcclVersion version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

// NCCL_VERSION in nccl.h.
NcclVersion ParseNcclVersion(int code) {
  const int scale = code < 10'000 ? 1'000 : 10'000;
  return {code / scale, code % scale / 100, code % 100};
}

}  // namespace muster::nccl
