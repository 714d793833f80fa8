// How many GPUs this process may use, by files and variables alone: no vendor's library is loaded.
#pragma once

#include <map>
#include <string>

namespace muster {

struct GpuCount {
  int gpus = 0;
  std::string vendor;    // "NVIDIA", "AMD" or "Intel"; empty: there is none
  std::string reason;    // why there is none; else empty
  std::string variable;  // gives a program some of them: CUDA_VISIBLE_DEVICES, ...; empty: there is none
};

// Of NVIDIA, else AMD, else Intel:
//   NVIDIA  /dev/nvidia0, ...; CUDA_VISIBLE_DEVICES
//   AMD     /dev/kfd and the nodes of /sys/class/kfd that are GPUs, else those of /dev/dri; of these what
//           ROCR_VISIBLE_DEVICES names, and of these what HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES names
//   Intel   discrete GPUs of /dev/dri, each once for all its tiles; ZE_AFFINITY_MASK, which may name tiles
// `root`: in front of /dev and /sys. A container may hide such files; without them the variable counts alone.
GpuCount CountGpus(const std::map<std::string, std::string, std::less<>>& environment,
                   const std::string& root = "");

}  // namespace muster
