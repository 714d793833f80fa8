// The unique ids of NCCL on their way to every rank. Whoever has an id can join the communicator, so they go
// over the group's control plane, which is authenticated and sealed, and nowhere else.
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
  // By when NCCL must have started: that of the rank with the least time left, so all give up together.
  Deadline deadline = Deadline::Never();
};

// Draws the ids that fall to this rank, gets everybody's, and agrees on the deadline. All ranks must have the
// same NCCL, or none gets ids: several ids need every library to know them, and the mixture would hang.
// Collective; `name` as for Group::Exchange. BLOCKS until every rank has called it, at most until the
// deadline. Error: the group's failure; kDeadline, names the ranks that have not called it; kDisagreement for
// different versions of NCCL or a malformed part (names the ranks); kSystem where NCCL could not draw one
// (names the rank, on all ranks alike).
Result<NcclTerms> ExchangeNcclIds(Group& group, NcclApi& nccl, std::string_view name, Deadline deadline);

}  // namespace muster::nccl
