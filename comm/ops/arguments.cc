#include "comm/ops/arguments.h"

#include <cstdint>

#include "comm/base/parse.h"

namespace muster {
namespace {

bool HasRoot(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kReduce ||
         operation == Operation::kGather || operation == Operation::kScatter;
}

bool Computes(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kAllReduce ||
         operation == Operation::kReduceScatter;
}

}  // namespace

bool HasPeer(Operation operation) { return operation == Operation::kSend || operation == Operation::kRecv; }

RequestBuffers BuffersOf(const OperationRequest& request, int rank, int size) {
  const auto& [operation, send, receive, reduce, root] = request;
  const bool uses_both = !HasRoot(operation) || rank == root;
  const auto other = [&](const ConstBuffer& buffer) {
    return uses_both ? std::optional(buffer) : std::nullopt;
  };
  const auto ranks = static_cast<size_t>(size);
  switch (operation) {
    case Operation::kBarrier:
    case Operation::kSend:
      return {"buffer", send};
    case Operation::kBroadcast:
    case Operation::kRecv:
      return {"buffer", receive};
    case Operation::kScatter:
    case Operation::kReduceScatter:
      return {"receive", receive, "send", other(send), ranks};
    case Operation::kGather:
    case Operation::kAllGather:
      return {"send", send, "receive", other(receive), ranks};
    default:
      return {"send", send, "receive", other(receive)};
  }
}

Status CheckRequest(const OperationRequest& request, const RequestBuffers& buffers, int rank, int size) {
  const Operation operation = request.operation;
  if (HasPeer(operation)) MUSTER_CHECK(CheckPeer(operation, request.root, rank, size));
  if (HasRoot(operation)) MUSTER_CHECK(CheckRoot(operation, request.root, size));
  if (!buffers.other) return {};
  MUSTER_CHECK(CheckPair(operation, buffers.own_name, buffers.own, buffers.other_name, *buffers.other,
                         buffers.factor));
  if (operation == Operation::kAllToAll && request.send.count % static_cast<size_t>(size) != 0) {
    return Fail(Code::kUsage, "AllToAll: {} elements are not the same number for each of the {} ranks",
                request.send.count, size);
  }
  return {};
}

Status CheckBuffer(Operation operation, std::string_view name, const ConstBuffer& buffer) {
  if (buffer.memory != Memory::kHost) {
    return WithHint(Fail(Code::kUsage, "{}: {} is device memory, and the socket backend works on host memory",
                         Name(operation), name),
                    "use backend: nccl, or copy to the host first");
  }
  if (buffer.data == nullptr && buffer.count > 0) {
    return Fail(Code::kUsage, "{}: {} is null and should have {} elements", Name(operation), name,
                buffer.count);
  }
  if (buffer.count > 0 && Computes(operation) &&
      (reinterpret_cast<uintptr_t>(buffer.data) & (SizeOf(buffer.type) - 1)) != 0) {
    return Fail(Code::kUsage, "{}: {} is not aligned for {}: its address must be a multiple of {}",
                Name(operation), name, Name(buffer.type), SizeOf(buffer.type));
  }
  // Half the address space, so that no later product of sizes can wrap around.
  if (buffer.count > static_cast<size_t>(PTRDIFF_MAX) / SizeOf(buffer.type)) {
    return Fail(Code::kUsage, "{}: {} cannot have {} elements", Name(operation), name, buffer.count);
  }
  return {};
}

Status CheckRoot(Operation operation, int root, int size) {
  if (root >= 0 && root < size) return {};
  return Fail(Code::kUsage, "{}: root {} is not one of the {} ranks 0-{}", Name(operation), root, size,
              size - 1);
}

Status CheckPeer(Operation operation, int peer, int rank, int size) {
  if (peer < 0 || peer >= size) {
    return Fail(Code::kUsage, "{}: rank {} is not one of the {} ranks 0-{}", Name(operation), peer, size,
                size - 1);
  }
  if (peer == rank) return Fail(Code::kUsage, "{}: rank {} is this rank itself", Name(operation), peer);
  return {};
}

Status CheckTimeout(Operation operation, const CallOptions& options) {
  if (!options.timeout || *options.timeout > Duration::zero()) return {};
  return Fail(Code::kUsage, "{}: the timeout must be more than 0", Name(operation));
}

Status CheckPair(Operation operation, std::string_view one_name, const ConstBuffer& one,
                 std::string_view many_name, const ConstBuffer& many, size_t factor) {
  if (one.type != many.type) {
    return Fail(Code::kUsage, "{}: {} is {} and {} is {}; they must have the same type", Name(operation),
                one_name, Name(one.type), many_name, Name(many.type));
  }
  if (one.count <= SIZE_MAX / factor && many.count == one.count * factor) return {};
  if (factor == 1) {
    return Fail(Code::kUsage, "{}: {} has {} elements and {} {}; they must have the same number",
                Name(operation), one_name, one.count, many_name, many.count);
  }
  return Fail(Code::kUsage, "{}: {} has {} elements and {} {}; it must have {} for each of the {} ranks",
              Name(operation), one_name, one.count, many_name, many.count, one.count, factor);
}

}  // namespace muster
