#include "comm/nccl/unique_ids/id_part.h"

#include <algorithm>

#include "comm/base/wire.h"

namespace muster::nccl {
namespace {

enum class Kind : uint8_t { kNone, kDrawn, kFailed };

Kind KindOf(const NcclIdPart& part) {
  if (part.id) return Kind::kDrawn;
  return part.failure.empty() ? Kind::kNone : Kind::kFailed;
}

}  // namespace

Bytes EncodeIdPart(const NcclIdPart& part) {
  WireWriter writer;
  writer.U16(static_cast<uint16_t>(part.version.major));
  writer.U16(static_cast<uint16_t>(part.version.minor));
  writer.U16(static_cast<uint16_t>(part.version.patch));
  writer.U32(part.milliseconds_left);
  writer.U8(static_cast<uint8_t>(KindOf(part)));
  if (part.id) writer.Raw(*part.id);
  if (KindOf(part) == Kind::kFailed) writer.String(part.failure);
  return writer.Take();
}

Result<NcclIdPart> DecodeIdPart(ByteView bytes) {
  WireReader reader(bytes);
  NcclIdPart part;
  part.version = {reader.U16(), reader.U16(), reader.U16()};
  part.milliseconds_left = reader.U32();
  switch (static_cast<Kind>(reader.U8())) {
    case Kind::kNone:
      break;
    case Kind::kDrawn: {
      NcclId& id = part.id.emplace();
      const ByteView raw = reader.Raw(id.size());
      std::ranges::copy(raw, id.begin());
      break;
    }
    case Kind::kFailed:
      part.failure = reader.String();
      if (part.failure.empty()) reader.MarkBad();
      break;
    default:
      reader.MarkBad();
  }
  MUSTER_CHECK(reader.Finish("NCCL id"));
  return part;
}

}  // namespace muster::nccl
