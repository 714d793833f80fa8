// The last rank dies while the others are in an AllReduce: lost_rank. Each prints a line: its rank, the
// microseconds of the monotonic clock (when it died, or when its wait came to an end), and what it was told.
#include <fmt/core.h>

#include <chrono>
#include <csignal>
#include <cstdio>

#include "bootstrap/bootstrap.h"
#include "tests/gpu/device.h"

namespace muster {
namespace {

constexpr size_t kBytes = size_t{1} << 20;

void Say(int rank, const std::string& what) {
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch());
  fmt::print("{} {} {}\n", rank, now.count(), what);
  std::fflush(stdout);
}

Status Sum(Communicator& group, const Device& device, const DeviceArray& array) {
  const Buffer all = array.As(DataType::kF32);
  return group.AllReduce(all, all, ReduceOp::kSum, device.options());
}

Status Run() {
  MUSTER_TRY(Communicator * group, Init());
  MUSTER_TRY(const Device device, Device::Open());
  MUSTER_TRY(const DeviceArray array, DeviceArray::Filled(device, Bytes(kBytes)));
  // Everybody is connected to everybody it will ever need.
  MUSTER_CHECK(Sum(*group, device, array));
  MUSTER_CHECK(group->Synchronize());
  if (group->rank() == group->size() - 1) {
    MUSTER_CHECK(group->Barrier());
    Say(group->rank(), "dies");
    std::raise(SIGKILL);
  }
  MUSTER_CHECK(Sum(*group, device, array));
  // From here on the others are in it. This may hear of the death before the wait does.
  [[maybe_unused]] const Status met = group->Barrier();
  Status waited = group->Synchronize();
  Say(group->rank(), waited ? "nothing" : waited.error().message);
  return waited;
}

}  // namespace
}  // namespace muster

int main() {
  const muster::Status status = muster::Run();
  if (status) return 0;
  fmt::print(stderr, "lost_rank: {}\n", muster::ToString(status.error()));
  return muster::ExitStatus(status.error().code);
}
