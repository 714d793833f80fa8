#include "comm/nccl/devices/gpu_hello.h"

#include "comm/base/fields.h"

namespace muster::nccl {
namespace {

// Sentences; longer ones are cut.
constexpr size_t kMostText = 2048;

}  // namespace

void Fields(auto& wire, Is<GpuHello> auto& hello) {
  const auto text = [](auto& value) { return AtMost(value, kMostText); };
  auto& verdict = hello.verdict;
  wire(text(verdict.problem), text(verdict.uuid), text(verdict.name), verdict.ordinal, verdict.peers_hidden,
       text(hello.refusal), text(hello.hint), text(hello.driver), text(hello.cuda), text(hello.nccl));
}

Bytes EncodeGpuHello(const GpuHello& hello) { return EncodeFields(hello); }
Result<GpuHello> DecodeGpuHello(ByteView bytes) { return DecodeFields<GpuHello>(bytes, "GPU hello"); }

}  // namespace muster::nccl
