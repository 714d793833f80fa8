// The last rank is lost to an AllReduce of all ranks: lost_rank dies|absent|hung [first]. It ends by SIGKILL,
// does not call it, or its GPU hangs in it. `first`: it is the first one, in which NCCL connects the ranks.
// Each rank prints a line: its number, the microseconds of the monotonic clock (when it was lost, or when its
// wait came to an end), and its error.
#include <fmt/core.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "bootstrap/bootstrap.h"
#include "tests/gpu/device.h"
#include "tests/gpu/endless_kernel.h"

namespace muster {
namespace {

constexpr size_t kBytes = size_t{1} << 20;
// Longer than any timeouts.collective of these tests: the group fails before.
constexpr Duration kAbsentFor = std::chrono::minutes(2);

void Say(int rank, const std::string& what) {
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch());
  fmt::print("{} {} {}\n", rank, now.count(), what);
  std::fflush(stdout);
}

Status Sum(Communicator& group, const Device& device, const DeviceArray& array) {
  const Buffer all = array.As(DataType::kF32);
  return group.AllReduce(all, all, ReduceOp::kSum, device.options());
}

Status Lose(std::string_view how, bool first, Communicator& group, const Device& device) {
  // Nothing but time shows that its peers are in NCCL's own call.
  if (first) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  Say(group.rank(), "is lost");
  if (how == "dies") std::raise(SIGKILL);
  if (how == "hung") return LaunchEndlessKernel(device.stream());
  return group.Barrier({kAbsentFor, nullptr});
}

Status Run(std::string_view how, bool first) {
  MUSTER_TRY(Communicator * group, Init());
  MUSTER_TRY(const Device device, Device::Open());
  MUSTER_TRY(const DeviceArray array, DeviceArray::Filled(device, Bytes(kBytes)));
  if (!first) {
    // Every rank has all the connections that it will ever need.
    MUSTER_CHECK(Sum(*group, device, array));
    MUSTER_CHECK(group->Synchronize());
  }
  if (group->rank() == group->size() - 1) {
    if (how == "dies") MUSTER_CHECK(group->Barrier());
    MUSTER_CHECK(Lose(how, first, *group, device));
  }
  // In the first one its peers wait inside the call.
  if (how == "dies" && first) MUSTER_CHECK(group->Barrier());
  Status waited = Sum(*group, device, array);
  // From here on its peers are in it. This may receive a death before the wait does.
  if (how == "dies" && !first) [[maybe_unused]]
    const Status met = group->Barrier();
  if (waited) waited = group->Synchronize();
  Say(group->rank(), waited ? "nothing" : waited.error().message);
  return waited;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const std::string_view how = argc >= 2 ? argv[1] : "";
  const bool first = argc == 3 && argv[2] == std::string_view("first");
  if ((how != "dies" && how != "absent" && how != "hung") || argc > (first ? 3 : 2)) {
    fmt::print(stderr, "lost_rank dies|absent|hung [first]\n");
    return 64;
  }
  const muster::Status status = muster::Run(how, first);
  if (status) return 0;
  fmt::print(stderr, "lost_rank: {}\n", muster::ToString(status.error()));
  return muster::ExitStatus(status.error().code);
}
