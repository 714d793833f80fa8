// Another rank's message about its GPU and NCCL's start. A decoded one is encoded as the very bytes it came
// from.
#include <algorithm>

#include "comm/nccl/communicator/start_report.h"
#include "comm/nccl/devices/gpu_hello.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

void FuzzOne(ByteView input) {
  if (const auto hello = DecodeFields<nccl::GpuHello>(input, "GPU hello")) {
    Require(std::ranges::equal(EncodeFields(*hello), input), "a hello is written as it came");
  } else {
    Require(hello.error().message.starts_with("malformed GPU hello: "), "{}", hello.error().message);
  }
  if (const auto report = DecodeFields<nccl::StartReport>(input, "NCCL start")) {
    Require(std::ranges::equal(EncodeFields(*report), input), "a report is written as it came");
  } else {
    Require(report.error().message.starts_with("malformed NCCL start: "), "{}", report.error().message);
  }
}

std::vector<Bytes> Seeds() {
  nccl::GpuHello without;
  without.verdict.problem = "no GPU";
  return {EncodeFields(nccl::GpuHello{{"", 3, "GPU-3b8f", "NVIDIA H100"}, "", "", "13.0", "12.8", "2.27.5"}),
          EncodeFields(without), EncodeFields(nccl::StartReport{nccl::StartStage::kThrough, ""}),
          EncodeFields(nccl::StartReport{nccl::StartStage::kWaiting, "connection refused"})};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz
