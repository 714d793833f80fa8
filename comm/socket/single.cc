#include "comm/socket/single.h"

#include <cstring>
#include <utility>

#include "comm/ops/arguments.h"

namespace muster::socket {
namespace {

// With one rank every collective is the identity: the received data is the sent data.
class SingleCommunicator final : public Communicator {
 public:
  explicit SingleCommunicator(Roster roster) : roster_(std::move(roster)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  const Roster& roster() const override { return roster_; }
  std::string_view backend() const override { return "socket"; }

  Status Perform(const OperationRequest& request, const CallOptions& options) override {
    const RequestBuffers buffers = BuffersOf(request, 0, 1);
    MUSTER_CHECK(CheckRequest(request, buffers, 0, 1, CheckBuffer));
    MUSTER_CHECK(CheckTimeout(request.operation, options));
    const Buffer& receive = request.receive;
    if (buffers.other && receive.count > 0 && request.send.data != receive.data) {
      std::memmove(receive.data, request.send.data, receive.bytes());
    }
    return {};
  }

  Result<std::vector<Bytes>> PerformBytes(Operation operation, ByteView mine, int root,
                                          const CallOptions& options) override {
    if (operation != Operation::kAllGatherBytes) MUSTER_CHECK(CheckRoot(operation, root, 1));
    MUSTER_CHECK(CheckTimeout(operation, options));
    return std::vector<Bytes>{Bytes(mine.begin(), mine.end())};
  }
  Result<std::unique_ptr<Communicator>> Split(int color, int, const CallOptions& options) override {
    MUSTER_CHECK(CheckTimeout(Operation::kSplit, options));
    if (color < 0) return nullptr;
    return std::make_unique<SingleCommunicator>(roster_);
  }

 private:
  const Roster roster_;
};

}  // namespace

std::unique_ptr<Communicator> MakeSingleCommunicator(Roster roster) {
  return std::make_unique<SingleCommunicator>(std::move(roster));
}

}  // namespace muster::socket
