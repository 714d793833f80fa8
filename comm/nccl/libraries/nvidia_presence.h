// Whether this machine can have an NVIDIA GPU at all, from its files: machines without one load no library.
#pragma once

#include <string>

namespace muster::nccl {

// True if there is the kernel's driver (/proc/driver/nvidia/version), a device of it (/dev/nvidiactl), or a
// Windows host's (/dev/dxg). Three lookups in the file system, no library. `root` is a prefix of the paths.
bool HasNvidiaFiles(const std::string& root = "");

}  // namespace muster::nccl
