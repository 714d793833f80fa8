// One operation on one rank: the values on which all ranks of a communicator must agree, and their text in
// messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "comm/base/error.h"
#include "comm/data_type.h"
#include "comm/operation.h"
#include "comm/roster.h"

namespace muster {

std::string_view Name(Operation operation);  // "AllReduce"

// A value. `sequence` counts the operations of one communicator from 1; Send and Recv are counted per pair
// and direction.
struct Call {
  uint64_t communicator = 0;
  uint64_t sequence = 0;
  Operation operation = Operation::kBarrier;
  DataType type = DataType::kU8;
  ReduceOp reduce = ReduceOp::kSum;  // kSum if nothing is reduced
  int32_t root = -1;                 // in the communicator's numbering; -1: none
  uint64_t count = 0;                // elements; 0 if the ranks' lengths may differ

  friend bool operator==(const Call&, const Call&) = default;
};

// "AllReduce #42 f32[1024]", "Barrier #42", "GatherBytes #42".
std::string Describe(const Call& call);
// "f32[1024]"; empty if the ranks' lengths may differ or there are none.
std::string DescribeElements(const Call& call);

// True if a message sent within `theirs` is for `mine`: the same call, or the Send for this Recv.
bool Match(const Call& mine, const Call& theirs);

// kDisagreement "rank 3 on gpu01 is in AllReduce #42 f32[1024], rank 5 on gpu02 in Barrier #42": the lower
// rank first, so that both sides report the same. Root and reduction are shown if they are the only
// difference.
Error Disagreement(const Roster& roster, int rank, const Call& call, int other_rank, const Call& other_call);
// kSystem "rank 1 on gpu01 has no memory for BroadcastBytes #5".
Error NoMemory(const Roster& roster, int rank, const Call& call);
// kDisagreement "rank 3 on gpu01 and rank 5 on gpu02 made different calls before AllReduce #42 f32[1024]": the
// calls themselves are no longer known.
Error EarlierDisagreement(const Roster& roster, int lower_rank, int higher_rank, const Call& call);

}  // namespace muster
