// Whether this machine can have a GPU of NVIDIA's at all, from its files: machines without one load nothing.
#pragma once

#include <string>

namespace muster::nccl {

// The kernel's driver is there (/proc/driver/nvidia/version), or a device of it (/dev/nvidiactl), or a
// Windows host's (/dev/dxg). Three looks at the file system, no library. `root` stands in front of the paths.
bool HasNvidiaFiles(const std::string& root = "");

}  // namespace muster::nccl
