// The operations of NcclCommunicator: which of the two planes, and what NCCL is asked.
#include "comm/nccl/communicator/communicator_impl.h"
#include "comm/nccl/communicator/settle.h"
#include "comm/nccl/devices/device_arguments.h"
#include "comm/ops/arguments.h"

namespace muster::nccl {
namespace {

bool OnHost(const ConstBuffer& buffer) { return buffer.memory == Memory::kHost; }

const void* Block(const ConstBuffer& buffer, int index, size_t count) {
  return static_cast<const uint8_t*>(buffer.data) + static_cast<size_t>(index) * count * SizeOf(buffer.type);
}
void* Block(const Buffer& buffer, int index, size_t count) {
  return static_cast<uint8_t*>(buffer.data) + static_cast<size_t>(index) * count * SizeOf(buffer.type);
}

}  // namespace

Status NcclCommunicator::CheckBuffer(Operation operation, std::string_view name,
                                     const ConstBuffer& buffer) const {
  const NcclCore& core = *shared_.core;
  return CheckDeviceBuffer(*core.cuda, core.settings.device, operation, name, buffer);
}

Status NcclCommunicator::CheckBoth(Operation operation, std::string_view one_name, const ConstBuffer& one,
                                   std::string_view many_name, const ConstBuffer& many, int factor) const {
  MUSTER_CHECK(CheckBuffer(operation, one_name, one));
  MUSTER_CHECK(CheckBuffer(operation, many_name, many));
  return CheckPair(operation, one_name, one, many_name, many, static_cast<size_t>(factor));
}

NcclResult NcclCommunicator::InGroup(const std::function<NcclResult()>& calls) const {
  if (const NcclResult begun = nccl().GroupStart(); begun != NcclResult::kSuccess) return begun;
  const NcclResult called = calls();
  return WorseOf(called, nccl().GroupEnd());
}

// Neither waits for the GPU, and a barrier says nothing about it.
Status NcclCommunicator::Barrier(const CallOptions& options) {
  MUSTER_CHECK(Usable());
  return host_->Barrier(options);
}

Status NcclCommunicator::Broadcast(Buffer buffer, int root, const CallOptions& options) {
  MUSTER_CHECK(Usable());
  if (OnHost(buffer)) return host_->Broadcast(buffer, root, options);
  MUSTER_CHECK(CheckRoot(Operation::kBroadcast, root, size()));
  MUSTER_CHECK(CheckBuffer(Operation::kBroadcast, "buffer", buffer));
  return RunCollective(Operation::kBroadcast, buffer, options, [=, this](NcclComm comm, CudaStream stream) {
    return nccl().Broadcast(buffer.data, buffer.data, buffer.count, buffer.type, root, comm, stream);
  });
}

Status NcclCommunicator::Reduce(ConstBuffer send, Buffer receive, ReduceOp operation, int root,
                                const CallOptions& options) {
  MUSTER_CHECK(Usable());
  const bool is_root = rank() == root;
  if (is_root) MUSTER_CHECK(CheckSameMemory(Operation::kReduce, "send", send, "receive", receive));
  if (OnHost(send)) return host_->Reduce(send, receive, operation, root, options);
  MUSTER_CHECK(CheckRoot(Operation::kReduce, root, size()));
  MUSTER_CHECK(CheckBuffer(Operation::kReduce, "send", send));
  if (is_root) MUSTER_CHECK(CheckBoth(Operation::kReduce, "send", send, "receive", receive, 1));
  return RunCollective(Operation::kReduce, send, options, [=, this](NcclComm comm, CudaStream stream) {
    return nccl().Reduce(send.data, is_root ? receive.data : nullptr, send.count, send.type, operation, root,
                         comm, stream);
  });
}

Status NcclCommunicator::AllReduce(ConstBuffer send, Buffer receive, ReduceOp operation,
                                   const CallOptions& options) {
  MUSTER_CHECK(Usable());
  MUSTER_CHECK(CheckSameMemory(Operation::kAllReduce, "send", send, "receive", receive));
  if (OnHost(send)) return host_->AllReduce(send, receive, operation, options);
  MUSTER_CHECK(CheckBoth(Operation::kAllReduce, "send", send, "receive", receive, 1));
  return RunCollective(Operation::kAllReduce, send, options, [=, this](NcclComm comm, CudaStream stream) {
    return shared_.core->nccl->AllReduce(send.data, receive.data, send.count, send.type, operation, comm,
                                         stream);
  });
}

Status NcclCommunicator::Gather(ConstBuffer send, Buffer receive, int root, const CallOptions& options) {
  MUSTER_CHECK(Usable());
  const bool is_root = rank() == root;
  if (is_root) MUSTER_CHECK(CheckSameMemory(Operation::kGather, "send", send, "receive", receive));
  if (OnHost(send)) return host_->Gather(send, receive, root, options);
  MUSTER_CHECK(CheckRoot(Operation::kGather, root, size()));
  MUSTER_CHECK(CheckBuffer(Operation::kGather, "send", send));
  if (is_root) MUSTER_CHECK(CheckBoth(Operation::kGather, "send", send, "receive", receive, size()));
  return RunCollective(Operation::kGather, send, options, [=, this](NcclComm comm, CudaStream stream) {
    return InGroup([&] {
      NcclResult result = nccl().Send(send.data, send.count, send.type, root, comm, stream);
      for (int from = 0; is_root && from < size(); ++from) {
        result = WorseOf(
            result, nccl().Recv(Block(receive, from, send.count), send.count, send.type, from, comm, stream));
      }
      return result;
    });
  });
}

Status NcclCommunicator::AllGather(ConstBuffer send, Buffer receive, const CallOptions& options) {
  MUSTER_CHECK(Usable());
  MUSTER_CHECK(CheckSameMemory(Operation::kAllGather, "send", send, "receive", receive));
  if (OnHost(send)) return host_->AllGather(send, receive, options);
  MUSTER_CHECK(CheckBoth(Operation::kAllGather, "send", send, "receive", receive, size()));
  return RunCollective(Operation::kAllGather, send, options, [=, this](NcclComm comm, CudaStream stream) {
    return shared_.core->nccl->AllGather(send.data, receive.data, send.count, send.type, comm, stream);
  });
}

Status NcclCommunicator::Scatter(ConstBuffer send, Buffer receive, int root, const CallOptions& options) {
  MUSTER_CHECK(Usable());
  const bool is_root = rank() == root;
  if (is_root) MUSTER_CHECK(CheckSameMemory(Operation::kScatter, "receive", receive, "send", send));
  if (OnHost(receive)) return host_->Scatter(send, receive, root, options);
  MUSTER_CHECK(CheckRoot(Operation::kScatter, root, size()));
  MUSTER_CHECK(CheckBuffer(Operation::kScatter, "receive", receive));
  if (is_root) MUSTER_CHECK(CheckBoth(Operation::kScatter, "receive", receive, "send", send, size()));
  return RunCollective(Operation::kScatter, receive, options, [=, this](NcclComm comm, CudaStream stream) {
    return InGroup([&] {
      NcclResult result = nccl().Recv(receive.data, receive.count, receive.type, root, comm, stream);
      for (int to = 0; is_root && to < size(); ++to) {
        result = WorseOf(result, nccl().Send(Block(send, to, receive.count), receive.count, receive.type, to,
                                             comm, stream));
      }
      return result;
    });
  });
}

Status NcclCommunicator::ReduceScatter(ConstBuffer send, Buffer receive, ReduceOp operation,
                                       const CallOptions& options) {
  MUSTER_CHECK(Usable());
  MUSTER_CHECK(CheckSameMemory(Operation::kReduceScatter, "receive", receive, "send", send));
  if (OnHost(receive)) return host_->ReduceScatter(send, receive, operation, options);
  MUSTER_CHECK(CheckBoth(Operation::kReduceScatter, "receive", receive, "send", send, size()));
  return RunCollective(Operation::kReduceScatter, receive, options,
                       [=, this](NcclComm comm, CudaStream stream) {
                         return shared_.core->nccl->ReduceScatter(send.data, receive.data, receive.count,
                                                                  receive.type, operation, comm, stream);
                       });
}

Status NcclCommunicator::AllToAll(ConstBuffer send, Buffer receive, const CallOptions& options) {
  MUSTER_CHECK(Usable());
  MUSTER_CHECK(CheckSameMemory(Operation::kAllToAll, "send", send, "receive", receive));
  if (OnHost(send)) return host_->AllToAll(send, receive, options);
  MUSTER_CHECK(CheckBoth(Operation::kAllToAll, "send", send, "receive", receive, 1));
  if (send.count % static_cast<size_t>(size()) != 0) {
    return Fail(Code::kUsage, "AllToAll: {} elements are not the same number for each of the {} ranks",
                send.count, size());
  }
  return RunCollective(Operation::kAllToAll, send, options, [=, this](NcclComm comm, CudaStream stream) {
    return ExchangeBlocks(send, receive, comm, stream);
  });
}

// In place every block would be overwritten before it is sent: it is sent from a copy, which lives in the
// stream.
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

Status NcclCommunicator::Send(ConstBuffer buffer, int to, const CallOptions& options) {
  MUSTER_CHECK(Usable());
  if (OnHost(buffer)) return host_->Send(buffer, to, options);
  MUSTER_CHECK(CheckPeer(Operation::kSend, to, rank(), size()));
  MUSTER_CHECK(CheckBuffer(Operation::kSend, "buffer", buffer));
  return RunPair(Operation::kSend, buffer, to, options, [=, this](NcclComm comm, CudaStream stream) {
    return shared_.core->nccl->Send(buffer.data, buffer.count, buffer.type, to, comm, stream);
  });
}

Status NcclCommunicator::Recv(Buffer buffer, int from, const CallOptions& options) {
  MUSTER_CHECK(Usable());
  if (OnHost(buffer)) return host_->Recv(buffer, from, options);
  MUSTER_CHECK(CheckPeer(Operation::kRecv, from, rank(), size()));
  MUSTER_CHECK(CheckBuffer(Operation::kRecv, "buffer", buffer));
  return RunPair(Operation::kRecv, buffer, from, options, [=, this](NcclComm comm, CudaStream stream) {
    return shared_.core->nccl->Recv(buffer.data, buffer.count, buffer.type, from, comm, stream);
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
