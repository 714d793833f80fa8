// The first message on a connection inside a node, in both directions: the process's protocol versions and
// its release. Its layout is the same in all releases; a later release may add fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "comm/auth/handshake/handshake_messages.h"
#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/base/version.h"

namespace muster::rendezvous {

// Of adoption and status, which work between neighbouring releases.
inline constexpr uint16_t kOldestProtocolVersion = 2;

struct Versions {
  uint16_t oldest = kOldestProtocolVersion;
  uint16_t newest = auth::kProtocolVersion;
  std::string release = kVersion;

  friend bool operator==(const Versions&, const Versions&) = default;
};

Bytes Encode(const Versions& versions);
// Takes a whole frame of its type. Fields after the known ones are ignored. Error: kInternal "malformed ...".
Result<Versions> DecodeVersions(ByteView frame);

// The newest common version. Error: kDisagreement; `ours` and `theirs` name the processes.
struct Speaker {
  std::string_view name;
  Versions versions;
};
Result<uint16_t> CommonVersion(const Speaker& ours, const Speaker& theirs);

// For the ranks of one group: both must have the same newest version.
Status CheckSameVersion(const Speaker& ours, const Speaker& theirs);

}  // namespace muster::rendezvous
