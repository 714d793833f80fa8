// The facts of a process and its node that decide whether a large group works. Values, and their encoding
// (they travel over the control plane: ../README.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "comm/base/fields.h"

namespace muster::check {

inline constexpr uint64_t kUnlimited = UINT64_MAX;

// Of a resource. A user can raise the soft one up to the hard one.
struct Limit {
  uint64_t soft = kUnlimited;
  uint64_t hard = kUnlimited;
};

// Of one rank.
struct RankFacts {
  uint64_t open_files = 0;                     // soft limit
  uint64_t open_files_most = 0;                // hard limit
  uint64_t locked_memory = 0;                  // bytes, soft limit
  uint32_t cpus = 0;                           // that it may run on
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES

  friend bool operator==(const RankFacts&, const RankFacts&) = default;
};

// Of one node, sent by its speaker: the rank whose local rank is 0.
struct NodeFacts {
  std::string muster;     // "0.1.0"
  std::string kernel;     // "6.1.0-13-amd64"
  std::string libc;       // "2.36"
  std::string interface;  // that data connections from other nodes arrive on; empty: one node only
  uint32_t mtu = 0;
  uint64_t shm_free = 0;   // bytes in /dev/shm
  uint64_t shm_total = 0;  // 0: there is none
  uint32_t gpus = 0;       // device files; CUDA is not queried
  bool infiniband = false;
  // Sent in the second hello, and not again (gpus.h). Empty: not found, or no rank had a reason to search.
  std::string gpu;          // "NVIDIA H100 80GB HBM3", the first rank's
  std::string gpu_problem;  // why that rank has none
  std::string driver;       // "13.0": the newest CUDA that it can run
  std::string cuda;         // "12.8": the runtime
  std::string nccl;         // "2.27.5"

  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

void Fields(auto& wire, Is<RankFacts> auto& facts) {
  bool has_devices = facts.visible_devices.has_value();
  std::string devices = facts.visible_devices.value_or("");
  wire(facts.open_files, facts.open_files_most, facts.locked_memory, facts.cpus, has_devices, devices);
  if constexpr (kReads<decltype(wire)>) {
    if (has_devices) facts.visible_devices = std::move(devices);
  }
}

void Fields(auto& wire, Is<NodeFacts> auto& facts) {
  wire(facts.muster, facts.kernel, facts.libc, facts.interface, facts.mtu, facts.shm_free, facts.shm_total,
       facts.gpus, facts.infiniband);
}

}  // namespace muster::check
