// The operations of NcclCommunicator: selects one of the two planes, and calls NCCL.
#include "comm/nccl/communicator/communicator_impl.h"
#include "comm/nccl/communicator/settle.h"
#include "comm/nccl/devices/device_arguments.h"
#include "comm/ops/arguments.h"
#include "comm/ops/counted_call.h"
#include "comm/ops/entry.h"

namespace muster::nccl {
namespace {

// Block `index` of a buffer of the blocks of all ranks.
ConstBuffer Block(const ConstBuffer& buffer, int index, size_t count) {
  const auto* data = static_cast<const uint8_t*>(buffer.data);
  return {data + static_cast<size_t>(index) * count * SizeOf(buffer.type), count, buffer.type, buffer.memory};
}
Buffer Block(const Buffer& buffer, int index, size_t count) {
  auto* data = static_cast<uint8_t*>(buffer.data);
  return {data + static_cast<size_t>(index) * count * SizeOf(buffer.type), count, buffer.type, buffer.memory};
}

OperationRequest SendOf(const ConstBuffer& block, int to) { return {Operation::kSend, block, {}, {}, to}; }
OperationRequest RecvOf(const Buffer& block, int from) { return {Operation::kRecv, {}, block, {}, from}; }

}  // namespace

NcclResult NcclCommunicator::InGroup(const std::function<NcclResult()>& calls) const {
  if (const NcclResult begun = nccl().GroupStart(); begun != NcclResult::kSuccess) return begun;
  const NcclResult called = calls();
  return WorseOf(called, nccl().GroupEnd());
}

// Neither waits for the GPU. A barrier has no buffers, so it proves nothing about the GPU's work.
Status NcclCommunicator::Perform(const OperationRequest& request, const CallOptions& options) {
  const CountedCall counted(calls_);
  if (closed_) return Closed(Name(request.operation));
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
  switch (request.operation) {
    case Operation::kGather:
      return LaunchGather(request, comm, stream);
    case Operation::kScatter:
      return LaunchScatter(request, comm, stream);
    case Operation::kAllToAll:
      return ExchangeBlocks(request.send, request.receive, comm, stream);
    default: {
      OperationRequest own = request;
      // Only the root's receive buffer has been checked.
      if (request.operation == Operation::kReduce && rank() != request.root) own.receive = {};
      // NCCL before 2.29.7 leaves out the end of one rank's average (NVIDIA/nccl#1950).
      if (size() == 1 && own.reduce == ReduceOp::kAvg) own.reduce = ReduceOp::kSum;
      return nccl().Launch(own, comm, stream);
    }
  }
}

NcclResult NcclCommunicator::LaunchGather(const OperationRequest& request, NcclComm comm,
                                          CudaStream stream) const {
  const ConstBuffer& send = request.send;
  return InGroup([&] {
    NcclResult result = nccl().Launch(SendOf(send, request.root), comm, stream);
    for (int from = 0; rank() == request.root && from < size(); ++from) {
      const OperationRequest receive = RecvOf(Block(request.receive, from, send.count), from);
      result = WorseOf(result, nccl().Launch(receive, comm, stream));
    }
    return result;
  });
}

NcclResult NcclCommunicator::LaunchScatter(const OperationRequest& request, NcclComm comm,
                                           CudaStream stream) const {
  const Buffer& receive = request.receive;
  return InGroup([&] {
    NcclResult result = nccl().Launch(RecvOf(receive, request.root), comm, stream);
    for (int to = 0; rank() == request.root && to < size(); ++to) {
      const OperationRequest send = SendOf(Block(request.send, to, receive.count), to);
      result = WorseOf(result, nccl().Launch(send, comm, stream));
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
      result = WorseOf(result, nccl().Launch(SendOf(Block(from, peer, count), peer), comm, stream));
      result = WorseOf(result, nccl().Launch(RecvOf(Block(receive, peer, count), peer), comm, stream));
    }
    return result;
  });
}

Result<std::vector<Bytes>> NcclCommunicator::PerformBytes(Operation operation, ByteView mine, int root,
                                                          const CallOptions& options) {
  const CountedCall counted(calls_);
  MUSTER_CHECK(Usable());
  return host_->PerformBytes(operation, mine, root, options);
}

}  // namespace muster::nccl
