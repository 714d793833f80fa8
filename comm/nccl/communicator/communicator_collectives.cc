// The operations of NcclCommunicator: selects one of the two planes, and calls NCCL.
#include "comm/nccl/communicator/communicator_impl.h"
#include "comm/nccl/communicator/settle.h"
#include "comm/nccl/devices/device_arguments.h"
#include "comm/ops/arguments.h"

namespace muster::nccl {
namespace {

const void* Block(const ConstBuffer& buffer, int index, size_t count) {
  return static_cast<const uint8_t*>(buffer.data) + static_cast<size_t>(index) * count * SizeOf(buffer.type);
}
void* Block(const Buffer& buffer, int index, size_t count) {
  return static_cast<uint8_t*>(buffer.data) + static_cast<size_t>(index) * count * SizeOf(buffer.type);
}

}  // namespace

NcclResult NcclCommunicator::InGroup(const std::function<NcclResult()>& calls) const {
  if (const NcclResult begun = nccl().GroupStart(); begun != NcclResult::kSuccess) return begun;
  const NcclResult called = calls();
  return WorseOf(called, nccl().GroupEnd());
}

// Neither waits for the GPU. A barrier has no buffers, so it proves nothing about the GPU's work.
Status NcclCommunicator::Perform(const OperationRequest& request, const CallOptions& options) {
  MUSTER_CHECK(Usable());
  const Operation operation = request.operation;
  const RequestBuffers buffers = BuffersOf(request, rank(), size());
  if (buffers.other) {
    MUSTER_CHECK(
        CheckSameMemory(operation, buffers.own_name, buffers.own, buffers.other_name, *buffers.other));
  }
  if (buffers.own.memory == Memory::kHost) return host_->Perform(request, options);
  const NcclCore& core = *shared_.core;
  MUSTER_CHECK(CheckRequest(request, buffers, rank(), size(),
                            std::bind_front(CheckDeviceBuffer, std::ref(*core.cuda), core.settings.device)));
  if (HasPeer(operation)) return RunPair(request, buffers.own, options);
  return RunCollective(request, buffers.own, options);
}

NcclResult NcclCommunicator::Launch(const OperationRequest& request, NcclComm comm, CudaStream stream) {
  const auto& [operation, send, receive, reduce, root] = request;
  switch (operation) {
    case Operation::kBroadcast:
      return nccl().Broadcast(receive.data, receive.data, receive.count, receive.type, root, comm, stream);
    case Operation::kReduce:
      return nccl().Reduce(send.data, rank() == root ? receive.data : nullptr, send.count, send.type, reduce,
                           root, comm, stream);
    case Operation::kAllReduce:
      return nccl().AllReduce(send.data, receive.data, send.count, send.type, reduce, comm, stream);
    case Operation::kGather:
      return LaunchGather(request, comm, stream);
    case Operation::kAllGather:
      return nccl().AllGather(send.data, receive.data, send.count, send.type, comm, stream);
    case Operation::kScatter:
      return LaunchScatter(request, comm, stream);
    case Operation::kReduceScatter:
      return nccl().ReduceScatter(send.data, receive.data, receive.count, receive.type, reduce, comm, stream);
    case Operation::kAllToAll:
      return ExchangeBlocks(send, receive, comm, stream);
    case Operation::kSend:
      return nccl().Send(send.data, send.count, send.type, root, comm, stream);
    case Operation::kRecv:
      return nccl().Recv(receive.data, receive.count, receive.type, root, comm, stream);
    default:
      return NcclResult::kInvalidUsage;
  }
}

NcclResult NcclCommunicator::LaunchGather(const OperationRequest& request, NcclComm comm,
                                          CudaStream stream) const {
  const auto& [operation, send, receive, reduce, root] = request;
  return InGroup([&] {
    NcclResult result = nccl().Send(send.data, send.count, send.type, root, comm, stream);
    for (int from = 0; rank() == root && from < size(); ++from) {
      result = WorseOf(
          result, nccl().Recv(Block(receive, from, send.count), send.count, send.type, from, comm, stream));
    }
    return result;
  });
}

NcclResult NcclCommunicator::LaunchScatter(const OperationRequest& request, NcclComm comm,
                                           CudaStream stream) const {
  const auto& [operation, send, receive, reduce, root] = request;
  return InGroup([&] {
    NcclResult result = nccl().Recv(receive.data, receive.count, receive.type, root, comm, stream);
    for (int to = 0; rank() == root && to < size(); ++to) {
      result = WorseOf(
          result, nccl().Send(Block(send, to, receive.count), receive.count, receive.type, to, comm, stream));
    }
    return result;
  });
}

// In place every block would be overwritten before it is sent: it is sent from a copy, which the stream
// frees.
NcclResult NcclCommunicator::ExchangeBlocks(const ConstBuffer& send, const Buffer& receive, NcclComm comm,
                                            CudaStream stream) {
  CudaApi& cuda = *shared_.core->cuda;
  ConstBuffer from = send;
  if (send.data == receive.data) {
    CudaResult copied = cuda.AllocateOn(&scratch_, send.bytes(), stream);
    if (copied == CudaResult::kSuccess) copied = cuda.Copy(scratch_, send.data, send.bytes(), stream);
    if (copied != CudaResult::kSuccess) {
      gpu_problem_ = cuda.Explain(copied);
      return NcclResult::kUnhandledCudaError;
    }
    from.data = scratch_;
  }
  const size_t count = send.count / static_cast<size_t>(size());
  return InGroup([&] {
    NcclResult result = NcclResult::kSuccess;
    for (int peer = 0; peer < size(); ++peer) {
      result = WorseOf(result, nccl().Send(Block(from, peer, count), count, send.type, peer, comm, stream));
      result =
          WorseOf(result, nccl().Recv(Block(receive, peer, count), count, send.type, peer, comm, stream));
    }
    return result;
  });
}

Result<std::vector<Bytes>> NcclCommunicator::GatherBytes(ByteView mine, int root,
                                                         const CallOptions& options) {
  MUSTER_CHECK(Usable());
  return host_->GatherBytes(mine, root, options);
}

Result<std::vector<Bytes>> NcclCommunicator::AllGatherBytes(ByteView mine, const CallOptions& options) {
  MUSTER_CHECK(Usable());
  return host_->AllGatherBytes(mine, options);
}

Result<Bytes> NcclCommunicator::BroadcastBytes(ByteView mine, int root, const CallOptions& options) {
  MUSTER_CHECK(Usable());
  return host_->BroadcastBytes(mine, root, options);
}

}  // namespace muster::nccl
