// The results of the checks of a rank's GPU. Values, and their form on the wire (../README.md).
#pragma once

#include <cstdint>
#include <string>

#include "comm/base/fields.h"

namespace muster::check {

inline constexpr uint64_t kUnknown = UINT64_MAX;

// As the GPU's management library counts them since the driver started.
struct GpuMemoryErrors {
  uint64_t corrected = kUnknown;
  uint64_t uncorrected = kUnknown;
  bool remap_pending = false;  // a reset lets spare rows replace bad ones
  bool remap_failed = false;   // no spare row was left

  friend bool operator==(const GpuMemoryErrors&, const GpuMemoryErrors&) = default;
};

// Of the GPU of one rank. A rank without a GPU has an empty uuid.
struct GpuFacts {
  std::string uuid;           // "GPU-3b8f..."
  std::string name;           // "NVIDIA H100 80GB HBM3"
  std::string problem;        // why the checks ended early; empty: they are complete
  bool memory_taken = false;  // that is the problem

  uint64_t words = 0;  // of 4 bytes, written and read back
  uint64_t wrong_words = 0;
  uint64_t elements = 0;  // of a matrix product with a known result
  uint64_t wrong_elements = 0;
  // The best of several rounds; 0: not measured.
  uint64_t write_bytes_per_s = 0;
  uint64_t read_bytes_per_s = 0;
  uint64_t product_flops = 0;  // additions and multiplications per second, float

  GpuMemoryErrors errors;
  std::string errors_problem;  // why they are unknown

  friend bool operator==(const GpuFacts&, const GpuFacts&) = default;
};

void Fields(auto& wire, Is<GpuMemoryErrors> auto& errors) {
  wire(errors.corrected, errors.uncorrected, errors.remap_pending, errors.remap_failed);
}

void Fields(auto& wire, Is<GpuFacts> auto& facts) {
  wire(facts.uuid, facts.name, facts.problem, facts.memory_taken, facts.words, facts.wrong_words,
       facts.elements, facts.wrong_elements, facts.write_bytes_per_s, facts.read_bytes_per_s,
       facts.product_flops, facts.errors, facts.errors_problem);
}

}  // namespace muster::check
