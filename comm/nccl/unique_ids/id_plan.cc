#include "comm/nccl/unique_ids/id_plan.h"

namespace muster::nccl {

std::vector<int> NcclIdOwners(int size, bool scalable) {
  const int ids = scalable ? (size + kRanksPerNcclId - 1) / kRanksPerNcclId : 1;
  const int least = size / ids;
  const int larger_blocks = size % ids;
  std::vector<int> owners;
  int first = 0;
  for (int i = 0; i < ids; ++i) {
    owners.push_back(first);
    first += least + (i < larger_blocks ? 1 : 0);
  }
  return owners;
}

}  // namespace muster::nccl
