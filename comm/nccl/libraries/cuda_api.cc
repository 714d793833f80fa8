#include "comm/nccl/libraries/cuda_api.h"

#include <fmt/core.h>

namespace muster::nccl {

std::string FormatGpuUuid(const std::array<uint8_t, 16>& uuid, std::string_view name) {
  std::string text = name.find(" MIG ") == std::string_view::npos ? "GPU-" : "MIG-";
  for (size_t i = 0; i < uuid.size(); ++i) {
    const bool starts_a_group = i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", starts_a_group ? "-" : "", uuid.at(i));
  }
  return text;
}

std::string FormatCudaVersion(int code) { return fmt::format("{}.{}", code / 1000, code % 1000 / 10); }

}  // namespace muster::nccl
