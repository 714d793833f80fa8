// The reader takes any bytes in any order of calls; it reads the writer's output back.
#include "comm/base/wire.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

constexpr size_t kOperations = 9;

void ReadAnything(ValueSource source) {
  const ByteView plan = source.Blob();
  const ByteView bytes = source.Rest();
  WireReader reader(bytes);
  for (const uint8_t step : plan) {
    const size_t before = reader.remaining();
    const bool was_ok = reader.ok();
    size_t length = 0;
    switch (step % kOperations) {
      case 0:
        reader.U8();
        break;
      case 1:
        reader.U16();
        break;
      case 2:
        reader.U32();
        break;
      case 3:
        reader.U64();
        break;
      case 4:
        length = reader.String().size();
        break;
      case 5:
        length = reader.Blob().size();
        break;
      case 6:
        length = reader.Raw(step).size();
        break;
      case 7:
        length = reader.Count(1 + step % 8U);
        break;
      default:
        reader.I64();
    }
    Require(reader.remaining() <= before && length <= bytes.size(), "{} bytes of {}", length, bytes.size());
    Require(was_ok || !reader.ok(), "what has failed stays so");
  }
  const Status finished = reader.Finish("input");
  Require(finished.has_value() == (reader.ok() && reader.remaining() == 0), "Finish says whether it was all");
}

void ReadBackWritten(ValueSource source) {
  const ValueSource same = source;
  WireWriter writer;
  while (!source.empty()) {
    switch (source.Below(6)) {
      case 0:
        writer.U8(source.Byte());
        break;
      case 1:
        writer.U16(source.Integer<uint16_t>());
        break;
      case 2:
        writer.I32(source.Integer<int32_t>());
        break;
      case 3:
        writer.I64(source.Integer<int64_t>());
        break;
      case 4:
        writer.String(source.Text());
        break;
      default:
        writer.Blob(source.Blob());
    }
  }
  WireReader reader(writer.bytes());
  source = same;
  bool equal = true;
  while (!source.empty()) {
    switch (source.Below(6)) {
      case 0:
        equal &= reader.U8() == source.Byte();
        break;
      case 1:
        equal &= reader.U16() == source.Integer<uint16_t>();
        break;
      case 2:
        equal &= reader.I32() == source.Integer<int32_t>();
        break;
      case 3:
        equal &= reader.I64() == source.Integer<int64_t>();
        break;
      case 4:
        equal &= reader.String() == source.Text();
        break;
      default:
        equal &= AsText(reader.Blob()) == AsText(source.Blob());
    }
  }
  Require(equal && reader.Finish("input"), "what was written is read back");
}

void FuzzOne(ByteView input) {
  ReadAnything(ValueSource(input));
  ReadBackWritten(ValueSource(input));
}

std::vector<Bytes> Seeds() {
  return {{9, 0,  1,  2,  3,  4,  5,  6, 7, 8, 1, 2,   3,   4, 5, 6, 7, 8,
           9, 10, 11, 12, 13, 14, 15, 2, 0, 0, 0, 'a', 'b', 1, 0, 0, 0, 'c'},
          {2, 4, 5, 3, 0, 0, 0, 'a', 'b', 'c', 0xff, 0xff, 0xff, 0xff},
          {1, 7, 0xff, 0xff, 0xff, 0x1f, 0, 0},
          {4, 3, 'a', 'b', 'c', 2, 0xff, 0xff, 0xff, 0x7f, 5, 1, 'x', 3, 1, 2, 3, 4, 5, 6, 7, 8}};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz
