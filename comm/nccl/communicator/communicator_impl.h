// The Communicator of the NCCL backend: sends host memory to the sockets, and queues what is on the device.
// Made by nccl_communicator.h; Split makes further ones on the same core.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "comm/nccl/communicator/core.h"
#include "comm/nccl/communicator/launcher.h"
#include "comm/nccl/communicator/live_comm.h"
#include "comm/nccl/communicator/watchdog.h"
#include "comm/ops/call.h"

namespace muster::nccl {

class NcclCommunicator final : public Communicator {
 public:
  struct Shared {
    std::shared_ptr<NcclCore> core;
    std::shared_ptr<Watchdog> watchdog;
  };
  // `world_ranks`: the group's number of each member.
  NcclCommunicator(Shared shared, std::unique_ptr<Communicator> host, std::shared_ptr<LiveComm> live,
                   std::vector<int> world_ranks);
  ~NcclCommunicator() override;

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  const Roster& roster() const override { return host_->roster(); }
  std::string_view backend() const override { return "nccl"; }

  Status Perform(const OperationRequest& request, const CallOptions& options) override;
  Result<std::vector<Bytes>> PerformBytes(Operation operation, ByteView mine, int root,
                                          const CallOptions& options) override;
  Result<std::unique_ptr<Communicator>> Split(int color, int key, const CallOptions& options) override;
  Status BeginGroup() override;
  Status EndGroup() override;
  Status Synchronize(const CallOptions& options) override;
  bool Close(Deadline deadline) override;

 private:
  // The work of one operation; launched with the communicator's turn held, in a group not before its end.
  struct Queued {
    Operations::Ticket ticket = 0;
    Deadline deadline = Deadline::Never();
    CudaStream stream = nullptr;
    OperationRequest request;
    StreamCopy copy{};
  };

  Status Run(const OperationRequest& request, const ConstBuffer& elements, const CallOptions& options);
  Status Queue(const Call& call, std::optional<int> peer, const OperationRequest& request,
               const CallOptions& options, Deadline deadline);
  // All of them as one.
  Status LaunchAll(std::vector<Queued> queued);
  // NCCL has accepted or refused the launch of `queued`: notifies the watchdog.
  Status Launched(NcclResult result, const std::vector<Queued>& queued);
  // Of NCCL or, if one of muster's own calls for an operation failed, of the GPU.
  Error LaunchError(NcclResult result, const std::vector<Queued>& queued) const;
  Error GpuError(CudaResult result) const;

  Status Usable() const;
  // BLOCKS while another thread has the turn, until `deadline` (the one of `options`); then the group fails.
  Result<std::unique_lock<std::recursive_mutex>> TakeTurn(std::string_view operation,
                                                          const CallOptions& options, Deadline deadline);
  tl::unexpected<Error> Break(const Error& error) const;
  struct Members {
    std::vector<int> world_ranks;
    uint64_t id = 0;  // the communicator's: the first member has drawn it
  };
  Result<Members> AgreeOnMembers(Communicator& part, const CallOptions& options) const;
  Status SplitNccl(int color, int key, const std::shared_ptr<LiveComm>& part, Deadline deadline);
  Status LeaveNccl(Deadline deadline);
  Duration TimeoutOf(const CallOptions& options) const;
  Deadline DeadlineOf(Duration timeout) const;
  // By when the watchdog has ended what has this deadline.
  Deadline Patience(Deadline deadline) const;

  const Shared shared_;
  const std::unique_ptr<Communicator> host_;
  const std::shared_ptr<LiveComm> live_;
  const std::vector<int> world_ranks_;
  const Launcher launcher_;

  std::atomic<bool> closed_ = false;
  std::atomic<int> calls_ = 0;  // in progress

  std::mutex collective_;      // held during one; no thread waits for it
  std::recursive_mutex turn_;  // NCCL takes one call at a time; held from BeginGroup to EndGroup
  uint64_t sequence_ = 0;
  std::map<std::pair<Operation, int>, uint64_t> pair_sequence_;
  bool grouping_ = false;
  std::vector<Queued> grouped_;
};

}  // namespace muster::nccl
