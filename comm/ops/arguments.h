// Checks of an operation's arguments. Every error is kUsage, found before anything is sent: it stays on this
// rank and breaks nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/ops/call.h"

namespace muster {

bool HasPeer(Operation operation);  // Send and Recv

// The buffers of a request as this rank uses them.
struct RequestBuffers {
  std::string_view own_name;
  ConstBuffer own;  // the same number of elements on each rank
  std::string_view other_name = {};
  std::optional<ConstBuffer> other = {};  // `factor` times the elements; absent if this rank uses one buffer
  size_t factor = 1;
};
RequestBuffers BuffersOf(const OperationRequest& request, int rank, int size);

// Checks all except the timeout and the contents of the buffers. `buffers` are those of the request.
Status CheckRequest(const OperationRequest& request, const RequestBuffers& buffers, int rank, int size);
// The same with `check(operation, name, buffer)` of each buffer: whether a backend can use it.
template <typename Check>
Status CheckRequest(const OperationRequest& request, const RequestBuffers& buffers, int rank, int size,
                    const Check& check) {
  MUSTER_CHECK(check(request.operation, buffers.own_name, buffers.own));
  if (buffers.other) MUSTER_CHECK(check(request.operation, buffers.other_name, *buffers.other));
  return CheckRequest(request, buffers, rank, size);
}

// Host memory, not null unless empty; aligned for its type if the operation computes.
Status CheckBuffer(Operation operation, std::string_view name, const ConstBuffer& buffer);
Status CheckRoot(Operation operation, int root, int size);
// Another rank of this communicator.
Status CheckPeer(Operation operation, int peer, int rank, int size);
// Positive if given.
Status CheckTimeout(Operation operation, const CallOptions& options);
// The same type, and `many` has `factor` times the elements of `one`.
Status CheckPair(Operation operation, std::string_view one_name, const ConstBuffer& one,
                 std::string_view many_name, const ConstBuffer& many, size_t factor);

}  // namespace muster
