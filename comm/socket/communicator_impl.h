// The Communicator of the socket backend: checks arguments, numbers the calls, runs the algorithm, and stays
// broken after the first error. Made by socket_communicator.h; Split makes further ones on the same core.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/communicator.h"
#include "comm/ops/entry.h"
#include "comm/ops/first_error.h"
#include "comm/socket/algorithms/topology.h"
#include "comm/socket/collectives/collectives.h"
#include "comm/socket/core.h"
#include "comm/socket/point_to_point.h"
#include "comm/socket/transport/call_history.h"

namespace muster::socket {

class SocketCommunicator final : public Communicator {
 public:
  // Error: kUsage if an algorithm of SocketOptions does not fit these members.
  static Result<std::unique_ptr<Communicator>> Create(std::shared_ptr<const SocketCore> core,
                                                      Members members);
  ~SocketCommunicator() override;

  int rank() const override { return members_.rank; }
  int size() const override { return members_.roster->size(); }
  const Roster& roster() const override { return *members_.roster; }
  std::string_view backend() const override { return "socket"; }

  Status Perform(const OperationRequest& request, const CallOptions& options) override;
  Result<std::vector<Bytes>> PerformBytes(Operation operation, ByteView mine, int root,
                                          const CallOptions& options) override;
  Result<std::unique_ptr<Communicator>> Split(int color, int key, const CallOptions& options) override;
  bool Close(Deadline deadline) override;

 private:
  SocketCommunicator(std::shared_ptr<const SocketCore> core, Members members, Topology topology,
                     Chooser chooser);

  // Runs `body` as the next collective.
  template <typename Body>
  Status RunCollective(const Call& call, const CallOptions& options, const Body& body) {
    return RunNext(call, options, std::cref(body));  // a function object of a reference allocates nothing
  }
  Status RunNext(Call call, const CallOptions& options, const std::function<Status(const Collective&)>& body);
  Status Enter(const Call& call, Duration timeout);
  Status Execute(const Call& call, Duration timeout, const std::function<Status(const Collective&)>& body);
  // The status of `body`, whose error breaks the communicator. An exception for want of memory is one: no other
  // rank may wait for this one until its deadline.
  template <typename Body>
  Status Breaking(const Call& call, const Body& body);
  Status BreakWithoutMemory(const Call& call);
  // Within `call`: decides whether memory is shared from this call on; if so, agrees on it.
  Status ShareMemoryFor(const Call& call);
  bool WantsMemory(const Call& call) const;
  Status RunPointToPoint(const OperationRequest& request, const CallOptions& options);
  Status Usable();
  tl::unexpected<Error> Break(const Error& error);
  Duration TimeoutOf(Operation operation, const CallOptions& options) const;

  const std::shared_ptr<const SocketCore> core_;
  const Members members_;
  const Topology topology_;
  const std::shared_ptr<CallHistory> history_;
  FirstError first_error_;
  std::atomic<bool> closed_ = false;

  std::mutex collective_;  // held during one; no thread waits for it
  uint64_t sequence_ = 0;
  Chooser chooser_;
  ConnectionSet connections_;
  ProgressEngine engine_;
  bool memory_settled_ = false;  // shared, or known not to be
  std::unique_ptr<NodeMemory> memory_;
  PointToPoint point_to_point_;
};

}  // namespace muster::socket
