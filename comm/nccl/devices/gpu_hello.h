// Each rank's message to the other ranks before the backend is chosen: its GPU, or the reason why it has
// none, and the versions of its libraries.
#pragma once

#include <string>

#include "comm/base/fields.h"
#include "comm/nccl/devices/gpu_verdict.h"

namespace muster::nccl {

struct GpuHello {
  GpuVerdict verdict;
  // Not empty: this rank has GPUs and cannot determine its own; the group cannot begin.
  std::string refusal;
  std::string hint;
  // "13.0", "12.8", "2.27.5"; empty: not found, or not searched.
  std::string driver;
  std::string cuda;
  std::string nccl;

  friend bool operator==(const GpuHello&, const GpuHello&) = default;
};

// Texts are sentences; longer ones are cut.
void Fields(auto& wire, Is<GpuHello> auto& hello) {
  const auto text = [](auto& value) { return AtMost(value, 2048); };
  auto& verdict = hello.verdict;
  wire(text(verdict.problem), text(verdict.uuid), text(verdict.name), verdict.ordinal, verdict.peers_hidden,
       text(hello.refusal), text(hello.hint), text(hello.driver), text(hello.cuda), text(hello.nccl));
}

}  // namespace muster::nccl
