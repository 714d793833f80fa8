// What was queued on a communicator of NCCL and is not known to be done. An event behind each operation in
// its stream says when it is: no thread waits on the GPU for that.
//
// Threads: any. Ownership: the events, freed by Close alone: a forked child, which destroys this too, may not
// call CUDA.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/group/activity.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/ops/call.h"

namespace muster::nccl {

inline Deadline LaterOf(Deadline one, Deadline other) { return one.when() > other.when() ? one : other; }

class Operations final : public ActivitySource {
 public:
  using Ticket = uint64_t;
  // An operation whose time is over.
  struct Overdue {
    Call call;
    Duration timeout{};
  };

  // `id` is the communicator's for the activity table: who has done nothing yet is a member of it as well.
  Operations(std::shared_ptr<CudaApi> cuda, uint64_t id) : cuda_(std::move(cuda)), id_(id) {}

  // `peer`, a rank of the group, for Send and Recv.
  Ticket Begin(const Call& call, Deadline deadline, Duration timeout, std::optional<int> peer);
  // Records the event behind it. The operation is over where that cannot be done; the result says why.
  // Nothing happens after Close: an abort may come between a launch and this.
  CudaResult Launched(Ticket ticket, CudaStream stream);

  // Forgets what is done. True where nothing is left. kSuccess in *health, or what the GPU reported.
  bool Sweep(CudaResult* health);
  // Of those left after the last Sweep: the first one whose deadline has passed.
  std::optional<Overdue> FindOverdue() const;
  // When the next one is over.
  Deadline Next() const;
  // When the last one is; that has passed where there is none.
  Deadline Last() const;
  // Whether one has waited for so long that was not counted before; it is counted now.
  bool HasNewLate(Duration after);
  // Forgets all of them, and frees the events. What is begun afterwards is never launched.
  void Close();

  OperationState Look() const override;

 private:
  struct Entry {
    Ticket ticket = 0;
    Call call;
    Deadline deadline = Deadline::Never();
    Duration timeout{};
    std::optional<int> peer;
    CudaEvent event = nullptr;  // null: not launched yet
    Clock::time_point began;
    bool late = false;
  };

  std::deque<Entry>::iterator Find(Ticket ticket);
  void Finish(const std::deque<Entry>::iterator& entry);

  const std::shared_ptr<CudaApi> cuda_;
  const uint64_t id_;
  mutable std::mutex mutex_;
  Ticket next_ = 1;
  std::deque<Entry> entries_;  // in the order of their beginning
  std::vector<CudaEvent> spare_;
  std::optional<Entry> last_;  // the last collective that was done
  Clock::time_point ended_ = Clock::now();
};

}  // namespace muster::nccl
