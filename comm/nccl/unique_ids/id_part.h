// A rank's message while the group draws NCCL's unique ids: its version of NCCL, the time for which it will
// still wait, and the id that it has drawn, or the reason why it could not.
//
//   u16 major, minor, patch | u32 milliseconds left | u8 kind | 128 bytes of id, or string: the reason
//   kind: 0 not this rank's to draw, 1 drawn, 2 could not        little-endian
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

struct NcclIdPart {
  NcclVersion version;
  uint32_t milliseconds_left = 0;
  std::optional<NcclId> id;
  std::string failure;  // why no id could be drawn; empty: it could, or was not this rank's to draw

  friend bool operator==(const NcclIdPart&, const NcclIdPart&) = default;
};

Bytes EncodeIdPart(const NcclIdPart& part);
// Strict: kInternal "malformed NCCL id: ..." for anything that EncodeIdPart does not write.
Result<NcclIdPart> DecodeIdPart(ByteView bytes);

}  // namespace muster::nccl
