// Watches the communicators of one process for conditions that NCCL itself never ends: a peer that the
// control plane reports as lost, an asynchronous error, an operation whose deadline has passed. Each becomes
// the failure of the whole group, with the culprit's name, and aborts all communicators on every rank.
//
// One thread; it never waits for the GPU: events signal completion. Threads: Add, Remove and Wake from any.
// Destruction ends the thread, and waits for an abort under way, at most settings.abort_within. So does the end of the
// process (exit), while NCCL's static objects still exist; 10 s after that limit it ends in any case.
#pragma once

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/base/unique_fd.h"
#include "comm/nccl/communicator/core.h"
#include "comm/nccl/communicator/live_comm.h"

namespace muster::nccl {

class Watchdog {
 public:
  // Error: kSystem: no thread or no descriptor.
  static Result<std::shared_ptr<Watchdog>> Start(std::shared_ptr<NcclCore> core);
  ~Watchdog();

  // False: too late, the communicators of this process were aborted; this one is the caller's to abort.
  [[nodiscard]] bool Add(const std::shared_ptr<LiveComm>& comm);
  // Its owner must end it now. False: it was aborted with all of them. In a failed group this waits for the
  // abort, about settings.abort_within at most.
  bool Remove(const std::shared_ptr<LiveComm>& comm);
  // Deadlines have changed.
  void Wake();

 private:
  using Comms = std::vector<std::shared_ptr<LiveComm>>;

  Watchdog(std::shared_ptr<NcclCore> core, UniqueFd wake) : core_(std::move(core)), wake_(std::move(wake)) {}

  void Run();
  void AskToStop();
  static void StopAtExit(std::weak_ptr<Watchdog> self);
  void EndWithProcess(int status);
  // Until something may have happened.
  void Sleep();
  // The error that ends the group; absent without one.
  std::optional<Error> Look();
  std::string self() const;
  std::optional<Error> StateOf(const LiveComm& comm) const;
  // The operations of all. False: not, because a call of NCCL is under way. *health as Operations::Sweep has it.
  bool Sweep(const Comms& all, CudaResult* health);
  Error TooLate(const LiveComm& comm, const Operations::Overdue& overdue) const;
  void End(const Error& error);
  Comms comms() const;

  const std::shared_ptr<NcclCore> core_;
  const UniqueFd wake_;
  mutable std::mutex mutex_;
  Comms comms_;
  bool ended_ = false;     // all are aborted
  bool finished_ = false;  // all have been aborted
  std::condition_variable finished_changed_;
  std::atomic<bool> stop_ = false;
  std::promise<void> thread_over_;
  const std::shared_future<void> thread_is_over_ = thread_over_.get_future().share();
  std::thread thread_;
};

}  // namespace muster::nccl
