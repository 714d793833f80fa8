#pragma once

namespace muster {

// The release.
inline constexpr const char* kVersion = "0.1.0";

}  // namespace muster
