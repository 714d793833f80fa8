// Another rank's message about its GPU and NCCL's start. A decoded one is encoded as the very bytes it came
// from.
#include <algorithm>

#include "comm/nccl/communicator/start_report.h"
#include "comm/nccl/devices/gpu_hello.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

void FuzzOne(ByteView input) {
  if (const auto hello = nccl::DecodeGpuHello(input)) {
    Require(std::ranges::equal(nccl::EncodeGpuHello(*hello), input), "a hello is written as it came");
  } else {
    Require(hello.error().message.starts_with("malformed GPU hello: "), "{}", hello.error().message);
  }
  if (const auto report = nccl::DecodeStartReport(input)) {
    Require(std::ranges::equal(nccl::EncodeStartReport(*report), input), "a report is written as it came");
  } else {
    Require(report.error().message.starts_with("malformed NCCL start: "), "{}", report.error().message);
  }
}

std::vector<Bytes> Seeds() {
  nccl::GpuHello without;
  without.verdict.problem = "no GPU";
  return {nccl::EncodeGpuHello({{"", 3, "GPU-3b8f", "NVIDIA H100"}, "", "", "13.0", "12.8", "2.27.5"}),
          nccl::EncodeGpuHello(without), nccl::EncodeStartReport({nccl::StartStage::kThrough, ""}),
          nccl::EncodeStartReport({nccl::StartStage::kWaiting, "connection refused"})};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz
