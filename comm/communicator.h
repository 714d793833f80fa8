// N processes as one group that can compute together. Implemented by comm/socket and comm/nccl; made by
// comm/init/init.h.
//
// Every call blocks until this rank's part is done, a peer is lost, ranks turn out to disagree, or its
// deadline passes: the call's own timeout, else the one from the configuration (timeouts.barrier for Barrier,
// timeouts.collective for the rest). The timeout of a call is more than 0. The deadline is no later than the job's
// end, if that is known and still ahead (timeouts.cap_at_job_end). A signal does not end a wait.
//
//     kUsage           an argument, a timeout of 0 or less, a second collective at the same time, or a forked
//                      child; found before anything is sent, on this rank alone, and nothing is broken
//     kDeadline        the time is over; the message names the ranks that the call waits for
//     kPeerLost        a rank has ended, left the group or fallen silent
//     kDisagreement    ranks are in different calls; the message has both. A rank that waits for no other rank in its
//                      call, as the root of Broadcast, gets it from one of its next calls
//     kAuthentication  sealed data, or the bytes of a ...Bytes call, were changed between two nodes
//     kSystem          the operating system refused (memory, descriptors, a device)
//     kInternal        a bug in muster
//
// After any error except kUsage the communicator is broken: every later call returns the first error. Such an error
// fails the whole group, also if the communicator is a part of it: all ranks return the code that the first rank found.
// One exception: Send to and Recv from a rank that has left the group are kPeerLost for this call alone, and nothing is broken.
// If that rank is on another node and no call ever connected to it, they fail the group, after liveness.straggler_after.
//
// Counts are in elements of `type`. A count of 0 is legal, then `data` may be null; the call still takes part
// and is compared with those of the other ranks. Buffers of Reduce, AllReduce and ReduceScatter are aligned for `type`.
// Send and receive buffers do not overlap, except in these layouts in place:
//
//     Reduce, AllReduce, AllToAll    receive is send
//     Gather, AllGather              send is this rank's block of receive
//     Scatter, ReduceScatter         receive is this rank's block of send
//
// Host memory: the buffer may be reused when the call returns; every backend takes it. Device memory (the nccl
// backend): work is queued on CallOptions::stream, and the buffer may be reused when the stream gets there; all
// buffers of a call are of one kind, on all ranks.
//
// ReduceOp::kAvg is the sum divided by size(). Of integers the sum wraps around first, and the quotient is cut
// off towards 0: the average of 2 and 3 is 2, of -2 and -3 it is -2.
//
// Threads: one collective at a time on one communicator. Send and Recv with different peers may run beside it, and so
// may calls on other communicators. The functions that only return facts (rank, size, roster, node, backend) may be
// called from any thread at any time.
// Fork: in a child of fork(2) calls return kUsage, and the destructor touches nothing of the parent's. A world of one
// has nothing to share, and works in a child too.
// Ownership: the Communicator owns its connections; buffers stay the caller's. A communicator made by Split may
// outlive the one it was made from, but not the group: destroy all of them before muster::Shutdown.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/data_type.h"
#include "comm/operation.h"
#include "comm/roster.h"

namespace muster {

enum class Memory : uint8_t { kHost, kDevice };

struct Buffer {
  void* data = nullptr;
  size_t count = 0;
  DataType type = DataType::kU8;
  Memory memory = Memory::kHost;

  size_t bytes() const { return count * SizeOf(type); }
};

struct ConstBuffer {
  const void* data = nullptr;
  size_t count = 0;
  DataType type = DataType::kU8;
  Memory memory = Memory::kHost;

  ConstBuffer() = default;
  ConstBuffer(const void* d, size_t n, DataType t, Memory m = Memory::kHost)
      : data(d), count(n), type(t), memory(m) {}
  ConstBuffer(const Buffer& b)  // NOLINT(google-explicit-constructor): a view
      : data(b.data), count(b.count), type(b.type), memory(b.memory) {}

  size_t bytes() const { return count * SizeOf(type); }
};

template <typename T>
Buffer HostBuffer(std::span<T> elements) {
  return {elements.data(), elements.size(), DataTypeOf<T>(), Memory::kHost};
}
template <typename T>
ConstBuffer HostBuffer(std::span<const T> elements) {
  return {elements.data(), elements.size(), DataTypeOf<T>(), Memory::kHost};
}

struct CallOptions {
  std::optional<Duration> timeout;  // absent: the configuration's
  void* stream = nullptr;           // cudaStream_t, for device memory
};

// An operation on elements, as a caller requests it.
struct OperationRequest {
  Operation operation = Operation::kBarrier;
  ConstBuffer send = {};
  Buffer receive = {};  // also the buffer of Broadcast
  ReduceOp reduce = ReduceOp::kSum;
  int root = -1;  // of Send and Recv the peer; -1: none
};

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The ranks of this communicator, in its own numbering (after Split: 0..size()-1 of the subgroup).
  virtual const Roster& roster() const = 0;
  const std::string& node() const { return roster().NodeName(rank()); }
  virtual std::string_view backend() const = 0;  // "socket", "nccl"

  Status Barrier(const CallOptions& options = {}) { return Perform({Operation::kBarrier}, options); }
  Status Broadcast(Buffer buffer, int root, const CallOptions& options = {}) {
    return Perform({Operation::kBroadcast, {}, buffer, {}, root}, options);
  }
  // `receive` is used on the root alone and has send.count elements.
  Status Reduce(ConstBuffer send, Buffer receive, ReduceOp operation, int root,
                const CallOptions& options = {}) {
    return Perform({Operation::kReduce, send, receive, operation, root}, options);
  }
  Status AllReduce(ConstBuffer send, Buffer receive, ReduceOp operation, const CallOptions& options = {}) {
    return Perform({Operation::kAllReduce, send, receive, operation}, options);
  }
  // `receive` has size() * send.count elements, in rank order; used on the root alone by Gather.
  Status Gather(ConstBuffer send, Buffer receive, int root, const CallOptions& options = {}) {
    return Perform({Operation::kGather, send, receive, {}, root}, options);
  }
  Status AllGather(ConstBuffer send, Buffer receive, const CallOptions& options = {}) {
    return Perform({Operation::kAllGather, send, receive}, options);
  }
  // `send` has size() * receive.count elements, in rank order; used on the root alone by Scatter.
  Status Scatter(ConstBuffer send, Buffer receive, int root, const CallOptions& options = {}) {
    return Perform({Operation::kScatter, send, receive, {}, root}, options);
  }
  Status ReduceScatter(ConstBuffer send, Buffer receive, ReduceOp operation,
                       const CallOptions& options = {}) {
    return Perform({Operation::kReduceScatter, send, receive, operation}, options);
  }
  // Both have size() blocks of equal count; block i goes to, and comes from, rank i.
  Status AllToAll(ConstBuffer send, Buffer receive, const CallOptions& options = {}) {
    return Perform({Operation::kAllToAll, send, receive}, options);
  }
  // Matched in order per pair of ranks; type and count must agree on both sides, else kDisagreement. Sending to this
  // rank itself is kUsage. Two calls of one direction to the same peer take turns.
  Status Send(ConstBuffer buffer, int to, const CallOptions& options = {}) {
    return Perform({Operation::kSend, buffer, {}, {}, to}, options);
  }
  Status Recv(Buffer buffer, int from, const CallOptions& options = {}) {
    return Perform({Operation::kRecv, {}, buffer, {}, from}, options);
  }
  // One of the operations above.
  virtual Status Perform(const OperationRequest& request, const CallOptions& options) = 0;

  // Host bytes whose length differs by rank (as gather_object does for evaluation harnesses). The result is indexed
  // by rank; GatherBytes returns an empty vector on every rank except the root. An empty `mine` is legal. They are
  // authenticated even if data is not sealed: bytes that were changed between two nodes are kAuthentication, and are
  // never returned.
  Result<std::vector<Bytes>> GatherBytes(ByteView mine, int root, const CallOptions& options = {}) {
    return PerformBytes(Operation::kGatherBytes, mine, root, options);
  }
  Result<std::vector<Bytes>> AllGatherBytes(ByteView mine, const CallOptions& options = {}) {
    return PerformBytes(Operation::kAllGatherBytes, mine, -1, options);
  }
  Result<Bytes> BroadcastBytes(ByteView mine, int root, const CallOptions& options = {}) {
    MUSTER_TRY(std::vector<Bytes> data, PerformBytes(Operation::kBroadcastBytes, mine, root, options));
    return std::move(data.front());
  }
  // One of the three above. The result of BroadcastBytes is the only element.
  virtual Result<std::vector<Bytes>> PerformBytes(Operation operation, ByteView mine, int root,
                                                  const CallOptions& options) = 0;

  // A communicator of all ranks that gave the same colour, ordered by key, then by rank; collective over this
  // one, with timeouts.collective. A rank with a negative colour takes part and receives null. kUsage between
  // BeginGroup and EndGroup.
  virtual Result<std::unique_ptr<Communicator>> Split(int color, int key,
                                                      const CallOptions& options = {}) = 0;

  // Calls on device memory between them are queued as one, so that a Send and a Recv of the same rank do not
  // wait for each other. Call both in one thread, with only such calls in between, and end a group that was begun
  // whatever its calls return. BeginGroup waits for a call or group of another thread, at most timeouts.collective. kUsage:
  // a group has begun already, or none has. Nothing changes for host memory.
  virtual Status BeginGroup() { return {}; }
  virtual Status EndGroup() { return {}; }
  // BLOCKS until all work that was queued on device memory is done. Check this result before reading buffers: after
  // a failure streams still complete, with undefined contents. Nothing to wait for is success.
  virtual Status Synchronize(const CallOptions& /*options*/ = {}) { return {}; }

  // For the owner, before it destroys a communicator that another thread may be using: calls that wait end with kUsage,
  // as do later ones; the group does not fail. BLOCKS until no call is left. False at the deadline: it must be kept.
  virtual bool Close(Deadline /*deadline*/) { return true; }

  template <typename T>
  Status AllReduce(std::span<T> in_place, ReduceOp operation, const CallOptions& options = {}) {
    return AllReduce(HostBuffer(in_place), HostBuffer(in_place), operation, options);
  }
  template <typename T>
  Status Broadcast(std::span<T> elements, int root, const CallOptions& options = {}) {
    return Broadcast(HostBuffer(elements), root, options);
  }
};

}  // namespace muster
