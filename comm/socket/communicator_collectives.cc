// The collectives of SocketCommunicator: arguments in, algorithm out.
#include "comm/ops/arguments.h"
#include "comm/socket/communicator_impl.h"

namespace muster::socket {
namespace {

ByteView BytesOf(const ConstBuffer& buffer) {
  return {static_cast<const uint8_t*>(buffer.data), buffer.bytes()};
}
std::span<uint8_t> BytesOf(const Buffer& buffer) {
  return {static_cast<uint8_t*>(buffer.data), buffer.bytes()};
}

// Both buffers, and that `many` has `factor` times the elements of `one`.
Status CheckBoth(Operation operation, std::string_view one_name, const ConstBuffer& one,
                 std::string_view many_name, const ConstBuffer& many, int factor) {
  MUSTER_CHECK(CheckBuffer(operation, one_name, one));
  MUSTER_CHECK(CheckBuffer(operation, many_name, many));
  return CheckPair(operation, one_name, one, many_name, many, static_cast<size_t>(factor));
}

}  // namespace

Status SocketCommunicator::Barrier(const CallOptions& options) {
  return RunCollective(CallOf(Operation::kBarrier), options, RunBarrier);
}

Status SocketCommunicator::Broadcast(Buffer buffer, int root, const CallOptions& options) {
  MUSTER_CHECK(CheckRoot(Operation::kBroadcast, root, size()));
  MUSTER_CHECK(CheckBuffer(Operation::kBroadcast, "buffer", buffer));
  return RunCollective(CallOf(Operation::kBroadcast, buffer, root), options,
                       [&](const Collective& c) { return RunBroadcast(c, BytesOf(buffer), root); });
}

Status SocketCommunicator::Reduce(ConstBuffer send, Buffer receive, ReduceOp operation, int root,
                                  const CallOptions& options) {
  MUSTER_CHECK(CheckRoot(Operation::kReduce, root, size()));
  MUSTER_CHECK(CheckBuffer(Operation::kReduce, "send", send));
  if (rank() == root) MUSTER_CHECK(CheckBoth(Operation::kReduce, "send", send, "receive", receive, 1));
  return RunCollective(CallOf(Operation::kReduce, send, root, operation), options,
                       [&](const Collective& c) { return RunReduce(c, send, receive, operation, root); });
}

Status SocketCommunicator::AllReduce(ConstBuffer send, Buffer receive, ReduceOp operation,
                                     const CallOptions& options) {
  MUSTER_CHECK(CheckBoth(Operation::kAllReduce, "send", send, "receive", receive, 1));
  return RunCollective(CallOf(Operation::kAllReduce, send, -1, operation), options,
                       [&](const Collective& c) { return RunAllReduce(c, send, receive, operation); });
}

Status SocketCommunicator::Gather(ConstBuffer send, Buffer receive, int root, const CallOptions& options) {
  MUSTER_CHECK(CheckRoot(Operation::kGather, root, size()));
  MUSTER_CHECK(CheckBuffer(Operation::kGather, "send", send));
  const bool is_root = rank() == root;
  if (is_root) MUSTER_CHECK(CheckBoth(Operation::kGather, "send", send, "receive", receive, size()));
  return RunCollective(CallOf(Operation::kGather, send, root), options, [&](const Collective& c) {
    return RunGather(c, BytesOf(send), is_root ? BytesOf(receive) : std::span<uint8_t>(), root);
  });
}

Status SocketCommunicator::AllGather(ConstBuffer send, Buffer receive, const CallOptions& options) {
  MUSTER_CHECK(CheckBoth(Operation::kAllGather, "send", send, "receive", receive, size()));
  return RunCollective(CallOf(Operation::kAllGather, send), options,
                       [&](const Collective& c) { return RunAllGather(c, BytesOf(send), BytesOf(receive)); });
}

Status SocketCommunicator::Scatter(ConstBuffer send, Buffer receive, int root, const CallOptions& options) {
  MUSTER_CHECK(CheckRoot(Operation::kScatter, root, size()));
  MUSTER_CHECK(CheckBuffer(Operation::kScatter, "receive", receive));
  const bool is_root = rank() == root;
  if (is_root) MUSTER_CHECK(CheckBoth(Operation::kScatter, "receive", receive, "send", send, size()));
  return RunCollective(CallOf(Operation::kScatter, receive, root), options, [&](const Collective& c) {
    return RunScatter(c, is_root ? BytesOf(send) : ByteView(), BytesOf(receive), root);
  });
}

Status SocketCommunicator::ReduceScatter(ConstBuffer send, Buffer receive, ReduceOp operation,
                                         const CallOptions& options) {
  MUSTER_CHECK(CheckBoth(Operation::kReduceScatter, "receive", receive, "send", send, size()));
  return RunCollective(CallOf(Operation::kReduceScatter, receive, -1, operation), options,
                       [&](const Collective& c) { return RunReduceScatter(c, send, receive, operation); });
}

Status SocketCommunicator::AllToAll(ConstBuffer send, Buffer receive, const CallOptions& options) {
  MUSTER_CHECK(CheckBoth(Operation::kAllToAll, "send", send, "receive", receive, 1));
  if (send.count % static_cast<size_t>(size()) != 0) {
    return Fail(Code::kUsage, "AllToAll: {} elements are not the same number for each of the {} ranks",
                send.count, size());
  }
  return RunCollective(CallOf(Operation::kAllToAll, send), options,
                       [&](const Collective& c) { return RunAllToAll(c, BytesOf(send), BytesOf(receive)); });
}

Result<std::vector<Bytes>> SocketCommunicator::GatherBytes(ByteView mine, int root,
                                                           const CallOptions& options) {
  MUSTER_CHECK(CheckRoot(Operation::kGatherBytes, root, size()));
  std::vector<Bytes> by_rank;
  MUSTER_CHECK(
      RunCollective(CallOf(Operation::kGatherBytes, {}, root), options, [&](const Collective& c) -> Status {
        MUSTER_TRY(by_rank, RunGatherBytes(c, mine, root));
        return {};
      }));
  return by_rank;
}

Result<std::vector<Bytes>> SocketCommunicator::AllGatherBytes(ByteView mine, const CallOptions& options) {
  std::vector<Bytes> by_rank;
  MUSTER_CHECK(RunCollective(CallOf(Operation::kAllGatherBytes), options, [&](const Collective& c) -> Status {
    MUSTER_TRY(by_rank, RunAllGatherBytes(c, mine));
    return {};
  }));
  return by_rank;
}

Result<Bytes> SocketCommunicator::BroadcastBytes(ByteView mine, int root, const CallOptions& options) {
  MUSTER_CHECK(CheckRoot(Operation::kBroadcastBytes, root, size()));
  Bytes data;
  MUSTER_CHECK(RunCollective(CallOf(Operation::kBroadcastBytes, {}, root), options,
                             [&](const Collective& c) -> Status {
                               MUSTER_TRY(data, RunBroadcastBytes(c, mine, root));
                               return {};
                             }));
  return data;
}

}  // namespace muster::socket
