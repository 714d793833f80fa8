#include "comm/socket/single.h"

#include <cstring>
#include <utility>

#include "comm/ops/arguments.h"

namespace muster::socket {
namespace {

// With one rank every collective is the identity: what was sent is what is received.
class SingleCommunicator final : public Communicator {
 public:
  explicit SingleCommunicator(Roster roster) : roster_(std::move(roster)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  const Roster& roster() const override { return roster_; }
  std::string_view backend() const override { return "socket"; }

  Status Barrier(const CallOptions& options) override { return CheckTimeout(Operation::kBarrier, options); }
  Status Broadcast(Buffer buffer, int root, const CallOptions& options) override {
    MUSTER_CHECK(CheckRoot(Operation::kBroadcast, root, 1));
    MUSTER_CHECK(CheckBuffer(Operation::kBroadcast, "buffer", buffer));
    return CheckTimeout(Operation::kBroadcast, options);
  }
  Status Reduce(ConstBuffer send, Buffer receive, ReduceOp, int root, const CallOptions& options) override {
    MUSTER_CHECK(CheckRoot(Operation::kReduce, root, 1));
    return Copy(Operation::kReduce, send, receive, options);
  }
  Status AllReduce(ConstBuffer send, Buffer receive, ReduceOp, const CallOptions& options) override {
    return Copy(Operation::kAllReduce, send, receive, options);
  }
  Status Gather(ConstBuffer send, Buffer receive, int root, const CallOptions& options) override {
    MUSTER_CHECK(CheckRoot(Operation::kGather, root, 1));
    return Copy(Operation::kGather, send, receive, options);
  }
  Status AllGather(ConstBuffer send, Buffer receive, const CallOptions& options) override {
    return Copy(Operation::kAllGather, send, receive, options);
  }
  Status Scatter(ConstBuffer send, Buffer receive, int root, const CallOptions& options) override {
    MUSTER_CHECK(CheckRoot(Operation::kScatter, root, 1));
    return Copy(Operation::kScatter, send, receive, options);
  }
  Status ReduceScatter(ConstBuffer send, Buffer receive, ReduceOp, const CallOptions& options) override {
    return Copy(Operation::kReduceScatter, send, receive, options);
  }
  Status AllToAll(ConstBuffer send, Buffer receive, const CallOptions& options) override {
    return Copy(Operation::kAllToAll, send, receive, options);
  }
  Status Send(ConstBuffer, int to, const CallOptions&) override {
    return CheckPeer(Operation::kSend, to, 0, 1);
  }
  Status Recv(Buffer, int from, const CallOptions&) override {
    return CheckPeer(Operation::kRecv, from, 0, 1);
  }

  Result<std::vector<Bytes>> GatherBytes(ByteView mine, int root, const CallOptions& options) override {
    MUSTER_CHECK(CheckRoot(Operation::kGatherBytes, root, 1));
    return List(Operation::kGatherBytes, mine, options);
  }
  Result<std::vector<Bytes>> AllGatherBytes(ByteView mine, const CallOptions& options) override {
    return List(Operation::kAllGatherBytes, mine, options);
  }
  Result<Bytes> BroadcastBytes(ByteView mine, int root, const CallOptions& options) override {
    MUSTER_CHECK(CheckRoot(Operation::kBroadcastBytes, root, 1));
    MUSTER_CHECK(CheckTimeout(Operation::kBroadcastBytes, options));
    return Bytes(mine.begin(), mine.end());
  }
  Result<std::unique_ptr<Communicator>> Split(int color, int, const CallOptions& options) override {
    MUSTER_CHECK(CheckTimeout(Operation::kSplit, options));
    if (color < 0) return nullptr;
    return std::make_unique<SingleCommunicator>(roster_);
  }

 private:
  static Status Copy(Operation operation, const ConstBuffer& send, const Buffer& receive,
                     const CallOptions& options) {
    MUSTER_CHECK(CheckBuffer(operation, "send", send));
    MUSTER_CHECK(CheckBuffer(operation, "receive", receive));
    MUSTER_CHECK(CheckPair(operation, "send", send, "receive", receive, 1));
    MUSTER_CHECK(CheckTimeout(operation, options));
    if (send.bytes() > 0 && send.data != receive.data) std::memmove(receive.data, send.data, send.bytes());
    return {};
  }
  static Result<std::vector<Bytes>> List(Operation operation, ByteView mine, const CallOptions& options) {
    MUSTER_CHECK(CheckTimeout(operation, options));
    return std::vector<Bytes>{Bytes(mine.begin(), mine.end())};
  }

  const Roster roster_;
};

}  // namespace

std::unique_ptr<Communicator> MakeSingleCommunicator(Roster roster) {
  return std::make_unique<SingleCommunicator>(std::move(roster));
}

}  // namespace muster::socket
