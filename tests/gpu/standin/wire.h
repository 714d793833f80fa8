// What the stand-in for NCCL says to its hub and hears from it, over a Unix socket: a header, then so many
// bytes.
#pragma once

#include <cstdint>

namespace muster::standin {

enum class Kind : uint32_t {
  kJoin,        // payload: the ring's name, a line feed, what NCCL would know the GPU by
  kCollective,  // `collective` and the fields below say which; payload: what this rank sends
  kSend,        // to `peer`; not answered
  kReceive,     // from `peer`
};

struct Request {
  uint64_t tag = 0;  // comes back with the answer
  Kind kind = Kind::kJoin;
  uint32_t collective = 0;  // FakeKernel::Kind
  uint32_t type = 0;        // DataType
  uint32_t operation = 0;   // ReduceOp
  int32_t peer = 0;         // the root of a collective; this rank's own number for kJoin
  uint32_t size = 0;        // of the ring, for kJoin
  uint64_t count = 0;
  uint64_t payload = 0;
};

struct Answer {
  uint64_t tag = 0;
  int32_t result = 0;  // ncclResult_t
  uint32_t padding = 0;
  uint64_t payload = 0;
};

}  // namespace muster::standin
