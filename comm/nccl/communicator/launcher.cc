#include "comm/nccl/communicator/launcher.h"

#include "comm/nccl/communicator/settle.h"

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

NcclResult Launcher::InGroup(const std::function<NcclResult()>& calls) const {
  if (const NcclResult begun = nccl_.GroupStart(); begun != NcclResult::kSuccess) return begun;
  const NcclResult called = calls();
  return WorseOf(called, nccl_.GroupEnd());
}

NcclResult Launcher::Launch(const OperationRequest& request, NcclComm comm, CudaStream stream,
                            StreamCopy& copy) const {
  switch (request.operation) {
    case Operation::kGather:
      return Gather(request, comm, stream);
    case Operation::kScatter:
      return Scatter(request, comm, stream);
    case Operation::kAllToAll:
      return ExchangeBlocks(request.send, request.receive, comm, stream, copy);
    default: {
      OperationRequest own = request;
      // Only the root's receive buffer has been checked.
      if (request.operation == Operation::kReduce && rank_ != request.root) own.receive = {};
      // NCCL before 2.29.7 leaves out the end of one rank's average (NVIDIA/nccl#1950).
      if (size_ == 1 && own.reduce == ReduceOp::kAvg) own.reduce = ReduceOp::kSum;
      return nccl_.Launch(own, comm, stream);
    }
  }
}

NcclResult Launcher::Gather(const OperationRequest& request, NcclComm comm, CudaStream stream) const {
  const ConstBuffer& send = request.send;
  return InGroup([&] {
    NcclResult result = nccl_.Launch(SendOf(send, request.root), comm, stream);
    for (int from = 0; rank_ == request.root && from < size_; ++from) {
      const OperationRequest receive = RecvOf(Block(request.receive, from, send.count), from);
      result = WorseOf(result, nccl_.Launch(receive, comm, stream));
    }
    return result;
  });
}

NcclResult Launcher::Scatter(const OperationRequest& request, NcclComm comm, CudaStream stream) const {
  const Buffer& receive = request.receive;
  return InGroup([&] {
    NcclResult result = nccl_.Launch(RecvOf(receive, request.root), comm, stream);
    for (int to = 0; rank_ == request.root && to < size_; ++to) {
      const OperationRequest send = SendOf(Block(request.send, to, receive.count), to);
      result = WorseOf(result, nccl_.Launch(send, comm, stream));
    }
    return result;
  });
}

// In place every block would be overwritten before it is sent: it is sent from a copy, which the stream
// frees.
NcclResult Launcher::ExchangeBlocks(const ConstBuffer& send, const Buffer& receive, NcclComm comm,
                                    CudaStream stream, StreamCopy& copy) const {
  ConstBuffer from = send;
  if (send.data == receive.data) {
    copy.result = cuda_.AllocateOn(&copy.memory, send.bytes(), stream);
    if (copy.result == CudaResult::kSuccess)
      copy.result = cuda_.Copy(copy.memory, send.data, send.bytes(), stream);
    if (copy.result != CudaResult::kSuccess) return NcclResult::kUnhandledCudaError;
    from.data = copy.memory;
  }
  const size_t count = send.count / static_cast<size_t>(size_);
  return InGroup([&] {
    NcclResult result = NcclResult::kSuccess;
    for (int peer = 0; peer < size_; ++peer) {
      result = WorseOf(result, nccl_.Launch(SendOf(Block(from, peer, count), peer), comm, stream));
      result = WorseOf(result, nccl_.Launch(RecvOf(Block(receive, peer, count), peer), comm, stream));
    }
    return result;
  });
}

}  // namespace muster::nccl
