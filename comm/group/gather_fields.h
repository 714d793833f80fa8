// Group::KeyedAllGather of a value that fields.h encodes.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/fields.h"
#include "comm/group/group.h"

namespace muster {

// The values of all ranks, by rank. Error: as KeyedAllGather; kDisagreement, "rank 3 on gpu01 sent a malformed
// `what`: ...".
template <typename T>
Result<std::vector<T>> GatherFields(Group& group, std::string_view name, const T& mine, std::string_view what,
                                    Deadline deadline) {
  MUSTER_TRY(const std::vector<Bytes> all, group.KeyedAllGather(name, EncodeFields(mine), deadline));
  std::vector<T> values;
  for (const Bytes& bytes : all) {
    Result<T> value = DecodeFields<T>(bytes, what);
    if (!value) {
      const int rank = static_cast<int>(values.size());
      return Fail(Code::kDisagreement, "{} sent a {}", DescribeRank(group.roster(), rank),
                  value.error().message);
    }
    values.push_back(*std::move(value));
  }
  return values;
}

}  // namespace muster
