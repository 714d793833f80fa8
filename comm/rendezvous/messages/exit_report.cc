#include "comm/rendezvous/messages/exit_report.h"

#include <algorithm>
#include <chrono>

#include "comm/base/wire.h"
#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {
namespace {

constexpr size_t kBytesOfOne = 4 + 1 + 1 + 4 + 4 + 3 * 8;
// Microseconds that a Duration can hold.
constexpr uint64_t kLongest = std::chrono::duration_cast<std::chrono::microseconds>(Duration::max()).count();

void Put(WireWriter& writer, Duration duration) {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  writer.U64(microseconds < 0 ? 0 : static_cast<uint64_t>(microseconds));
}

Duration GetDuration(WireReader& reader) {
  return std::chrono::microseconds(std::min(reader.U64(), kLongest));
}

template <typename Enum>
Enum GetEnum(WireReader& reader, Enum last) {
  const uint8_t value = reader.U8();
  if (value > static_cast<uint8_t>(last)) reader.MarkBad();
  return static_cast<Enum>(value);
}

RankEnd GetEnd(WireReader& reader) {
  RankEnd end;
  end.rank = reader.I32();
  end.cause = GetEnum(reader, EndCause::kNotStarted);
  end.out_of_memory = GetEnum(reader, OutOfMemory::kOwn);
  end.exit_code = reader.I32();
  end.signal = reader.I32();
  end.resolve = GetDuration(reader);
  end.join = GetDuration(reader);
  end.run = GetDuration(reader);
  return end;
}

}  // namespace

Bytes Encode(const ExitReport& ends) {
  WireWriter writer;
  writer.U8(static_cast<uint8_t>(ControlType::kEnded));
  writer.U8(ends.last ? 1 : 0);
  writer.U32(static_cast<uint32_t>(ends.ends.size()));
  for (const RankEnd& end : ends.ends) {
    writer.I32(end.rank);
    writer.U8(static_cast<uint8_t>(end.cause));
    writer.U8(static_cast<uint8_t>(end.out_of_memory));
    writer.I32(end.exit_code);
    writer.I32(end.signal);
    Put(writer, end.resolve);
    Put(writer, end.join);
    Put(writer, end.run);
  }
  return writer.Take();
}

Result<ExitReport> DecodeExitReport(ByteView frame) {
  WireReader reader(frame);
  reader.U8();
  ExitReport ends;
  const uint8_t last = reader.U8();
  if (last > 1) reader.MarkBad();
  ends.last = last == 1;
  ends.ends.resize(reader.Count(kBytesOfOne));
  for (RankEnd& end : ends.ends) end = GetEnd(reader);
  MUSTER_CHECK(reader.Finish("ends"));
  return ends;
}

}  // namespace muster::rendezvous
