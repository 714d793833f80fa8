// Init and AllReduce on device memory through muster: muster_times BYTES:REPEAT... Rank 0 prints the times of
// the slowest rank (sizes.h).
#include <fmt/core.h>

#include "bootstrap/bootstrap.h"
#include "tests/gpu/device.h"
#include "tests/gpu/sizes.h"

namespace muster {
namespace {

constexpr int kWarmUp = 3;

Result<double> Time(Communicator& group, const Device& device, const TimedSize& size) {
  MUSTER_TRY(const DeviceArray array, DeviceArray::Filled(device, Bytes(size.bytes)));
  const Buffer all = array.As(DataType::kF32);
  const auto repeat = [&](int times) -> Status {
    for (int i = 0; i < times; ++i) {
      MUSTER_CHECK(group.AllReduce(all, all, ReduceOp::kSum, device.options()));
    }
    return group.Synchronize();
  };
  MUSTER_CHECK(repeat(kWarmUp));
  const auto start = Clock::now();
  MUSTER_CHECK(repeat(size.repeat));
  return SecondsSince(start) / size.repeat;
}

Status Run(std::span<const char* const> words) {
  MUSTER_TRY(const std::vector<TimedSize> sizes, ParseSizes(words));
  const auto start = Clock::now();
  MUSTER_TRY(Communicator * group, Init());
  std::vector<double> seconds = {SecondsSince(start)};
  MUSTER_TRY(const Device device, Device::Open());
  for (const TimedSize& size : sizes) {
    MUSTER_TRY(const double one, Time(*group, device, size));
    seconds.push_back(one);
  }
  MUSTER_CHECK(group->AllReduce(std::span(seconds), ReduceOp::kMax));
  if (group->rank() == 0) fmt::print("{}\n", FormatTimes(sizes, seconds));
  return Shutdown();
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<size_t>(argc));
  const muster::Status status = muster::Run(words.subspan(argc > 0 ? 1 : 0));
  if (status) return 0;
  fmt::print(stderr, "muster_times: {}\n", muster::ToString(status.error()));
  return muster::ExitStatus(status.error().code);
}
