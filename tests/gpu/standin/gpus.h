// The GPUs of the stand-ins that a process sees: STANDIN_GPUS (1) of them, as CUDA_VISIBLE_DEVICES chooses and orders
// them. STANDIN_MIG: each is a part of a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "comm/nccl/libraries/cuda_api.h"

namespace muster::standin {

inline std::string NameOfGpu() {
  return std::getenv("STANDIN_MIG") == nullptr ? "Computing GPU" : "Computing GPU MIG 1g.5gb";
}

inline std::array<uint8_t, 16> UuidOfGpu(int gpu) {
  std::array<uint8_t, 16> uuid = {1};
  uuid.back() = static_cast<uint8_t>(gpu);
  return uuid;
}

// By number, or by the first characters of a UUID; as CUDA: an unknown one ends the list.
inline std::vector<int> VisibleGpus() {
  const char* set = std::getenv("STANDIN_GPUS");
  const int count = set == nullptr ? 1 : std::atoi(set);
  std::vector<int> visible;
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int gpu = 0; gpu < count; ++gpu) visible.push_back(gpu);
    return visible;
  }
  std::istringstream words{std::string(list)};
  for (std::string word; std::getline(words, word, ',');) {
    int found = -1;
    for (int gpu = 0; gpu < count; ++gpu) {
      const std::string uuid = nccl::FormatGpuUuid(UuidOfGpu(gpu), NameOfGpu());
      if (word == std::to_string(gpu) || (word.size() > std::strlen("GPU-") && uuid.starts_with(word)))
        found = gpu;
    }
    if (found < 0) break;
    visible.push_back(found);
  }
  return visible;
}

}  // namespace muster::standin
