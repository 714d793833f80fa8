// Another process that has a GPU's memory: full_gpu takes all that is free, prints `full`, and keeps it until its
// standard input ends.
#include <fmt/core.h>

#include <cstdio>

#include "tests/gpu/device.h"

namespace muster {
namespace {

constexpr size_t kMost = size_t{1} << 30;
constexpr size_t kLeast = size_t{1} << 16;

Status Run() {
  MUSTER_TRY(const Device device, Device::Open());
  size_t taken = 0;
  for (size_t bytes = kMost; bytes >= kLeast;) {
    void* memory = nullptr;
    if (device.Allocate(&memory, bytes) == nccl::CudaResult::kSuccess) {
      taken += bytes;
    } else {
      bytes /= 2;
    }
  }
  fmt::print("full: {} MiB\n", taken >> 20);
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  return {};
}

}  // namespace
}  // namespace muster

int main() {
  const muster::Status status = muster::Run();
  if (status) return 0;
  fmt::print(stderr, "full_gpu: {}\n", muster::ToString(status.error()));
  return muster::ExitStatus(status.error().code);
}
