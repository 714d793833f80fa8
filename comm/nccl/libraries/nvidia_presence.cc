#include "comm/nccl/libraries/nvidia_presence.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace muster::nccl {

bool HasNvidiaFiles(const std::string& root) {
  constexpr std::array kFiles = {"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"};
  return std::ranges::any_of(kFiles,
                             [&](const char* file) { return access((root + file).c_str(), F_OK) == 0; });
}

}  // namespace muster::nccl
