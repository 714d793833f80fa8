// Init and calls on device memory through muster: muster_times OPERATION:BYTES:REPEAT... Rank 0 prints the times of
// the slowest rank (calls.h).
#include <fmt/core.h>

#include "bootstrap/bootstrap.h"
#include "tests/gpu/calls.h"
#include "tests/gpu/device.h"

namespace muster {
namespace {

constexpr int kWarmUp = 3;

Status AroundTheRing(Communicator& group, const Buffer& send, const Buffer& receive,
                     const CallOptions& options) {
  const int ranks = group.size();
  MUSTER_CHECK(group.BeginGroup());
  const Status sent = group.Send(send, (group.rank() + 1) % ranks, options);
  Status received = group.Recv(receive, (group.rank() + ranks - 1) % ranks, options);
  MUSTER_CHECK(group.EndGroup());
  MUSTER_CHECK(sent);
  return received;
}

Status ManyInGroup(Communicator& group, const Buffer& all, const CallOptions& options) {
  MUSTER_CHECK(group.BeginGroup());
  Status status;
  for (int i = 0; i < kInGroup && status; ++i) status = group.AllReduce(all, all, ReduceOp::kSum, options);
  MUSTER_CHECK(group.EndGroup());
  return status;
}

// `send` and `receive` have the call's size.
Status Call(Communicator& group, const TimedCall& call, const Buffer& send, Buffer receive,
            const CallOptions& options) {
  switch (call.operation) {
    case Timed::kReduceScatter:
      receive.count = send.count / static_cast<size_t>(group.size());
      return group.ReduceScatter(send, receive, ReduceOp::kSum, options);
    case Timed::kBroadcast:
      return group.Broadcast(send, 0, options);
    case Timed::kSendRecv:
      return AroundTheRing(group, send, receive, options);
    case Timed::kGroup:
      return ManyInGroup(group, send, options);
    default:
      return group.AllReduce(send, send, ReduceOp::kSum, options);
  }
}

Result<double> Time(Communicator& group, const Device& device, const TimedCall& call) {
  MUSTER_TRY(const DeviceArray send, DeviceArray::Filled(device, Bytes(call.bytes)));
  MUSTER_TRY(const DeviceArray receive, DeviceArray::Filled(device, Bytes(call.bytes)));
  const auto repeat = [&](int times) -> Status {
    for (int i = 0; i < times; ++i) {
      MUSTER_CHECK(Call(group, call, send.As(DataType::kF32), receive.As(DataType::kF32), device.options()));
    }
    return group.Synchronize();
  };
  MUSTER_CHECK(repeat(kWarmUp));
  const auto start = Clock::now();
  MUSTER_CHECK(repeat(call.repeat));
  return SecondsSince(start) / call.repeat;
}

Status Run(std::span<const char* const> words) {
  MUSTER_TRY(const std::vector<TimedCall> calls, ParseCalls(words));
  const auto start = Clock::now();
  MUSTER_TRY(Communicator * group, Init());
  std::vector<double> seconds = {SecondsSince(start)};
  MUSTER_TRY(const Device device, Device::Open());
  for (const TimedCall& call : calls) {
    MUSTER_TRY(const double one, Time(*group, device, call));
    seconds.push_back(one);
  }
  MUSTER_CHECK(group->AllReduce(std::span(seconds), ReduceOp::kMax));
  if (group->rank() == 0) fmt::print("{}\n", FormatTimes(calls, seconds));
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
