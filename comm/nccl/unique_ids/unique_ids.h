// Distributes the unique ids of NCCL to every rank. Any process with an id can join the communicator, so they
// are sent only over the group's control plane, which is authenticated and sealed.
//
// Protocol source: ncclCommInitRankScalable in NCCL 2.23 (bootstrap.cc): with n ids for N ranks, the first
// N % n of n consecutive blocks have one rank more than the others; the ranks of a block meet at its id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/fields.h"
#include "comm/group/group.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

// At scale, start-up waits for one rank that greets all other ranks; above this number several share the work.
inline constexpr int kRanksPerNcclId = 128;

// owners[i] is the rank that draws id i: the first of its block, so that the ids' listeners are spread as
// NCCL's own blocks are. One owner, rank 0, up to 128 ranks and if the library takes only one id.
std::vector<int> NcclIdOwners(int size, bool scalable);

// A rank's message: its version of NCCL, the time for which it will still wait, and the id that it has drawn, or
// the reason why it could not. Without both it was not this rank's to draw.
struct NcclIdPart {
  NcclVersion version;
  uint32_t milliseconds_left = 0;
  std::optional<NcclId> id;
  std::string failure;

  friend bool operator==(const NcclIdPart&, const NcclIdPart&) = default;
};

void Fields(auto& wire, Is<NcclVersion> auto& version) {
  for (auto* number : {&version.major, &version.minor, &version.patch}) {
    auto short_number = static_cast<uint16_t>(*number);
    wire(short_number);
    if constexpr (kReads<decltype(wire)>) *number = short_number;
  }
}

void Fields(auto& wire, Is<NcclIdPart> auto& part) {
  enum class Kind : uint8_t { kNone, kDrawn, kFailed };
  Kind kind = part.id ? Kind::kDrawn : part.failure.empty() ? Kind::kNone : Kind::kFailed;
  wire(part.version, part.milliseconds_left, UpTo(kind, Kind::kFailed));
  if constexpr (kReads<decltype(wire)>) {
    if (kind == Kind::kDrawn) part.id.emplace();
  }
  if (part.id) wire(*part.id);
  if (kind != Kind::kFailed) return;
  wire(part.failure);
  wire.Require(!part.failure.empty());
}

struct NcclTerms {
  std::vector<NcclId> ids;  // in the same order on every rank, as NcclApi::Init takes them
  // NCCL must have started by then: the deadline of the rank with the least time left, so that all stop
  // together.
  Deadline deadline = Deadline::Never();
};

// Draws the ids that fall to this rank, receives the remaining ones, and agrees on the deadline. All ranks
// must have the same NCCL, or none gets ids: several ids need support in every library, and a mixture would
// hang. Collective; `name` as for Group::Exchange. BLOCKS until every rank has called it, at most until the
// deadline. Errors: the group's failure; kDeadline, names the ranks that have not called it; kDisagreement
// for different versions of NCCL or a malformed part (names the ranks); kSystem if NCCL could not draw one
// (names the rank, the same on all ranks).
Result<NcclTerms> ExchangeNcclIds(Group& group, NcclApi& nccl, std::string_view name, Deadline deadline);

}  // namespace muster::nccl
