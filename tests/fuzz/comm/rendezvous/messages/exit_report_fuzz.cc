// The exit reports of programs, as they come from below: a decoded one is encoded and decoded again as the
// same.
//
// An input is a frame; if it begins with a zero, the rest is values for one.
#include "comm/rendezvous/messages/exit_report.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

constexpr size_t kMostEnds = 5;

void CheckFrame(ByteView frame) {
  const Result<rendezvous::ExitReport> ends = rendezvous::Decode<rendezvous::ExitReport>(frame);
  if (!ends) {
    Require(ends.error().code == Code::kInternal && ends.error().message.starts_with("malformed "), "{}",
            ends.error().message);
    return;
  }
  const Result<rendezvous::ExitReport> again = rendezvous::Decode<rendezvous::ExitReport>(Encode(*ends));
  Require(again && *again == *ends, "ends are read back");
}

void CheckValue(ValueSource source) {
  rendezvous::ExitReport ends{std::vector<rendezvous::RankEnd>(source.Below(kMostEnds)), source.Flag()};
  const auto time = [&source] { return std::chrono::microseconds(source.Integer<uint32_t>()); };
  for (rendezvous::RankEnd& end : ends.ends) {
    end = {source.Number(),
           static_cast<rendezvous::EndCause>(source.Below(4)),
           static_cast<rendezvous::OutOfMemory>(source.Below(3)),
           source.Number(),
           source.Number(),
           time(),
           time(),
           time()};
  }
  const Bytes frame = Encode(ends);
  const Result<rendezvous::ExitReport> again = rendezvous::Decode<rendezvous::ExitReport>(frame);
  Require(again && *again == ends, "ends are read back");
  Require(!rendezvous::Decode<rendezvous::ExitReport>(ByteView(frame).first(frame.size() - 1)),
          "ends cut short are refused");
}

void FuzzOne(ByteView input) {
  if (input.empty()) return;
  if (input[0] == 0) return CheckValue(ValueSource(input.subspan(1)));
  CheckFrame(input);
}

std::vector<Bytes> Seeds() {
  rendezvous::RankEnd end;
  end.rank = 3;
  end.signal = 9;
  end.run = std::chrono::hours(1);
  Bytes values(100);
  for (size_t i = 1; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 37 % 11);
  return {Encode(rendezvous::ExitReport{}), Encode(rendezvous::ExitReport{{end, end}, true}), values};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz
