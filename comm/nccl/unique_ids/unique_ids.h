// Distributes the unique ids of NCCL to every rank. Any process with an id can join the communicator, so they
// are sent only over the group's control plane, which is authenticated and sealed.
#pragma once

#include <string_view>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/group/group.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

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
