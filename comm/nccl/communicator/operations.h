// The operations queued on a communicator of NCCL that may be unfinished. An event behind each launch in its
// stream signals its end: no thread waits on the GPU for that.
//
// Threads: any. A call of CUDA, which a dead GPU may not answer, delays Launched, Sweep and Close of other threads, and no
// other function: Look is the control plane's. Ownership: the events, freed by Close alone: a forked child, which destroys this too, may not
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

  // `id` is the communicator's for the activity table: a member without any operation appears in it as well.
  Operations(std::shared_ptr<CudaApi> cuda, uint64_t id) : cuda_(std::move(cuda)), id_(id) {}

  // `peer`, a rank of the group, for Send and Recv.
  Ticket Begin(const Call& call, Deadline deadline, Duration timeout, std::optional<int> peer);
  // Records one event behind all of a launch that went to this stream, in the order of their beginning. If that fails,
  // they are over and the result is the reason. If the stream captures a graph, they are over too: an event would become
  // part of the graph. Nothing happens after Close: an abort may come between a launch and this.
  CudaResult Launched(const std::vector<Ticket>& tickets, CudaStream stream);

  // 64 or more: the next operation sweeps before it begins. A Sweep asks CUDA about each, and the watchdog sweeps as well.
  bool Many() const;
  // Removes completed operations. True if none remains. *health: kSuccess, or the GPU's error.
  bool Sweep(CudaResult* health);
  // Of those left after the last Sweep: the first one whose deadline has passed. `unlaunched`: of those only that are
  // being launched, if there was no Sweep.
  std::optional<Overdue> FindOverdue(bool unlaunched = false) const;
  // The next deadline that has not passed.
  Deadline Next() const;
  // The latest deadline of all; a past one if there is none.
  Deadline Last() const;
  // True if the operation that Look shows has waited for `after` and was not counted before; it is counted now.
  bool HasNewLate(Duration after);
  // Removes all of them, and frees the events. Later operations are never launched.
  void Close();

  OperationState Look() const override;

 private:
  struct Entry {
    Ticket ticket = 0;
    Call call;
    Deadline deadline = Deadline::Never();
    Duration timeout{};
    std::optional<int> peer;
    CudaEvent event = nullptr;  // null: not launched
    bool owns_event = false;    // the last one of its launch in its stream
    Clock::time_point began;
    bool late = false;
  };

  using Lock = std::lock_guard<std::mutex>;

  std::deque<Entry>::iterator Find(Ticket ticket);
  // The first one that is being launched, else the first: those before may be done, as no Sweep comes during a launch,
  // and this rank has done its part of them.
  size_t Shown() const;
  // Behind all that is in the stream now. With cuda_calls_ held.
  CudaResult Record(CudaStream stream, CudaEvent* event);
  // With both mutexes held.
  void Finish(const std::deque<Entry>::iterator& entry);
  // Null: not launched, or none is left.
  CudaEvent FirstEvent() const;
  bool Empty() const;

  const std::shared_ptr<CudaApi> cuda_;
  const uint64_t id_;
  std::mutex cuda_calls_;         // held during those on events, and by what removes entries
  std::vector<CudaEvent> spare_;  // guarded by cuda_calls_
  mutable std::mutex mutex_;      // taken after cuda_calls_; guards all below
  Ticket next_ = 1;
  std::deque<Entry> entries_;  // in the order of their beginning
  std::optional<Entry> last_;  // the last collective that was done
  Clock::time_point ended_ = Clock::now();
};

}  // namespace muster::nccl
