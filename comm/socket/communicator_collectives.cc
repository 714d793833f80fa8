// The collectives of SocketCommunicator: arguments in, algorithm out.
#include "comm/ops/arguments.h"
#include "comm/socket/communicator_impl.h"

namespace muster::socket {
namespace {

// `buffers`: those of this rank.
Status Run(const Collective& c, const OperationRequest& request, const RequestBuffers& buffers) {
  const auto& [operation, send, receive, reduce, root] = request;
  switch (operation) {
    case Operation::kBroadcast:
      return RunBroadcast(c, BytesOf(receive), root);
    case Operation::kReduce:
      return RunReduce(c, send, receive, reduce, root);
    case Operation::kAllReduce:
      return RunAllReduce(c, send, receive, reduce);
    case Operation::kGather:
      return RunGather(c, BytesOf(send), buffers.other ? BytesOf(receive) : std::span<uint8_t>(), root);
    case Operation::kAllGather:
      return RunAllGather(c, BytesOf(send), BytesOf(receive));
    case Operation::kScatter:
      return RunScatter(c, buffers.other ? BytesOf(send) : ByteView(), BytesOf(receive), root);
    case Operation::kReduceScatter:
      return RunReduceScatter(c, send, receive, reduce);
    case Operation::kAllToAll:
      return RunAllToAll(c, BytesOf(send), BytesOf(receive));
    default:
      return RunBarrier(c);
  }
}

}  // namespace

Status SocketCommunicator::Perform(const OperationRequest& request, const CallOptions& options) {
  const RequestBuffers buffers = BuffersOf(request, rank(), size());
  MUSTER_CHECK(CheckRequest(request, buffers, rank(), size(), CheckBuffer));
  if (HasPeer(request.operation)) return RunPointToPoint(request, options);
  return RunCollective(CallOf(request.operation, buffers.own, request.root, request.reduce), options,
                       [&](const Collective& c) { return Run(c, request, buffers); });
}

Result<std::vector<Bytes>> SocketCommunicator::PerformBytes(Operation operation, ByteView mine, int root,
                                                            const CallOptions& options) {
  const bool all = operation == Operation::kAllGatherBytes;
  if (!all) MUSTER_CHECK(CheckRoot(operation, root, size()));
  std::vector<Bytes> results;
  const auto body = [&](const Collective& c) -> Status {
    if (operation == Operation::kBroadcastBytes) {
      MUSTER_TRY(results.emplace_back(), RunBroadcastBytes(c, mine, root));
      return {};
    }
    MUSTER_TRY(results, all ? RunAllGatherBytes(c, mine) : RunGatherBytes(c, mine, root));
    return {};
  };
  MUSTER_CHECK(RunCollective(CallOf(operation, {}, root), options, body));
  return results;
}

}  // namespace muster::socket
