#include "comm/nccl/unique_ids/id_part.h"

#include "comm/base/fields.h"

namespace muster::nccl {
namespace {

enum class Kind : uint8_t { kNone, kDrawn, kFailed };

Kind KindOf(const NcclIdPart& part) {
  if (part.id) return Kind::kDrawn;
  return part.failure.empty() ? Kind::kNone : Kind::kFailed;
}

}  // namespace

void Fields(auto& wire, Is<NcclVersion> auto& version) {
  for (auto* number : {&version.major, &version.minor, &version.patch}) {
    auto short_number = static_cast<uint16_t>(*number);
    wire(short_number);
    if constexpr (kReads<decltype(wire)>) *number = short_number;
  }
}

void Fields(auto& wire, Is<NcclIdPart> auto& part) {
  Kind kind = KindOf(part);
  wire(part.version, part.milliseconds_left, UpTo(kind, Kind::kFailed));
  if constexpr (kReads<decltype(wire)>) {
    if (kind == Kind::kDrawn) part.id.emplace();
  }
  if (part.id) wire(*part.id);
  if (kind != Kind::kFailed) return;
  wire(part.failure);
  wire.Require(!part.failure.empty());
}

Bytes EncodeIdPart(const NcclIdPart& part) { return EncodeFields(part); }
Result<NcclIdPart> DecodeIdPart(ByteView bytes) { return DecodeFields<NcclIdPart>(bytes, "NCCL id"); }

}  // namespace muster::nccl
