// Bytes of data connections: the header of a message, a rank's data endpoint. A decoded one is encoded as the very
// bytes it came from.
#include <algorithm>

#include "comm/socket/transport/call_history.h"
#include "comm/socket/transport/endpoint.h"
#include "comm/socket/transport/frame.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

const Roster& TheRoster() {
  static const Roster roster{"id", {{"gpu01", {}}, {"gpu02", {}}}, {{0, 0, 1, {}}, {1, 0, 2, {}}}};
  return roster;
}

void CheckFrames(ValueSource source) {
  socket::CallHistory history;
  Call mine{.communicator = 1, .sequence = 1, .operation = Operation::kBarrier};
  while (!source.empty()) {
    const auto bytes = source.Array<socket::kFrameHeaderBytes>();
    const auto frame = socket::DecodeFrame(bytes);
    if (!frame) continue;
    Require(socket::EncodeFrame(*frame) == bytes, "a frame is written as it came");
    Require(!Describe(frame->call).empty(), "a call can be described");
    Require(Match(frame->call, frame->call) || frame->call.operation == Operation::kSend ||
                frame->call.operation == Operation::kRecv,
            "a call matches itself");
    Require(
        !Disagreement(TheRoster(), 0, mine, static_cast<int>(source.Number()), frame->call).message.empty(),
        "any two calls can be compared");
    const auto mismatch = history.Ask(source.Number(), frame->call);
    Require(!mismatch || mismatch->mine != mismatch->theirs, "a mismatch has two calls");
    if (source.Flag()) {
      history.Begin(mine);
      ++mine.sequence;
    }
  }
}

void CheckEndpoint(ByteView bytes, ValueSource source) {
  if (const auto address = socket::DecodeEndpoint(bytes, TheRoster(), source.Number())) {
    Require(std::ranges::equal(socket::EncodeEndpoint(*address), bytes), "an endpoint is written as it came");
  } else {
    Require(address.error().code == Code::kDisagreement && address.error().message.starts_with("rank "), "{}",
            address.error().message);
  }
}

void FuzzOne(ByteView input) {
  CheckFrames(ValueSource(input));
  CheckEndpoint(input, ValueSource(input));
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds = {socket::EncodeEndpoint({"00a1f", 61000}), socket::EncodeEndpoint({"", 0})};
  for (uint8_t operation = 0; operation < kOperationCount; ++operation) {
    socket::Frame frame;
    frame.call = {1, 1, static_cast<Operation>(operation), DataType::kF32, ReduceOp::kMax, 0, 1024};
    frame.payload = 4096;
    for (const socket::FrameKind kind :
         {socket::FrameKind::kData, socket::FrameKind::kLeave, socket::FrameKind::kInquiry}) {
      frame.kind = kind;
      const socket::FrameBytes bytes = socket::EncodeFrame(frame);
      seeds.emplace_back(bytes.begin(), bytes.end());
    }
  }
  return seeds;
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz
