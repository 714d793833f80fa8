// What the caller of an operation may get wrong. Every error is kUsage, found before anything is sent: it
// stays on this rank and breaks nothing.
#pragma once

#include <string_view>

#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/ops/call.h"

namespace muster {

// Host memory that is there.
Status CheckBuffer(Operation operation, std::string_view name, const ConstBuffer& buffer);
Status CheckRoot(Operation operation, int root, int size);
// Another rank of this communicator.
Status CheckPeer(Operation operation, int peer, int rank, int size);
// Positive where given.
Status CheckTimeout(Operation operation, const CallOptions& options);
// The same type, and `many` has `factor` times the elements of `one`.
Status CheckPair(Operation operation, std::string_view one_name, const ConstBuffer& one,
                 std::string_view many_name, const ConstBuffer& many, size_t factor);

}  // namespace muster
