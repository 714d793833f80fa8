// A formed group, for one of its processes: the roster, the control plane and the keys. The base of a
// Communicator and of the supervisor. Made by comm/rendezvous/control/join.h (or adopted from a supervisor).
//
// Threads: all functions may be called from any thread. Only KeyedAllGather, MissingRanks and Leave block, at
// most until their deadline.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/group/activity.h"
#include "comm/group/root_link.h"
#include "comm/roster.h"

namespace muster {

// Random, drawn by the root, the same on all ranks, secret to the group: proves membership on data
// connections.
using GroupKey = std::array<uint8_t, 32>;

class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual const Roster& roster() const = 0;
  virtual const GroupKey& key() const = 0;

  // Every rank gives bytes and receives those of all ranks, indexed by rank; over the control plane, for
  // small data (addresses, versions, ids). `name` must be new each time and the same on every rank. Error:
  // the group's failure, or kDeadline naming the ranks that have not called it.
  virtual Result<std::vector<Bytes>> KeyedAllGather(std::string_view name, ByteView mine,
                                                    Deadline deadline) = 0;

  // Readable (poll POLLIN) as soon as the group has failed, and from then on. Owned by the Group.
  virtual int failure_fd() const = 0;
  // The first failure of the group, the same sentence on every rank; absent while all is well.
  virtual std::optional<Error> failure() const = 0;
  // Makes `error` the group's failure on every rank, unless it already has one. For errors that this rank
  // detects itself (a mismatched collective, a passed deadline). Does not wait.
  virtual void Fail(const Error& error) = 0;

  // The ranks missing in collective number `sequence` of a communicator (activity.h), as text: "rank 5
  // (gpu02), last seen in Barrier #41". Empty if all are in it, or no process can answer. BLOCKS for about
  // `patience`.
  virtual std::string MissingRanks(uint64_t /*communicator*/, uint64_t /*sequence*/, Duration /*patience*/) {
    return {};
  }

  // Leaves the group: from now on the end of this process is not a failure. Waits until that is known if it must
  // be.
  //
  // Error: the group's failure, if it has one: the work was not done together to the end.
  virtual Status Leave(Deadline deadline) = 0;

  // To the root of the group; null in a world of one. Owned by the Group.
  virtual RootLink* root_link() { return nullptr; }
  // Numbers the maps of this process (comm/map): ranks begin them in the same order.
  uint32_t TakeMapNumber() { return next_map_++; }

  // The table in which the backend reports this rank's operations.
  ActivityTable& activity() { return activity_; }

  // Operations do not wait beyond this, if the end of the job is known; once it has passed it has no effect.
  // It may become known at any time.
  Deadline latest() const { return Deadline::At(Clock::time_point(Clock::duration(latest_.load()))); }

 protected:
  // Keeps the maps of one program of a rank apart from those of the next.
  void set_first_map(uint32_t first) { next_map_ = first; }
  void set_latest(Deadline latest) { latest_ = latest.when().time_since_epoch().count(); }

 private:
  ActivityTable activity_;
  std::atomic<uint32_t> next_map_ = 0;
  std::atomic<Clock::rep> latest_ = Clock::time_point::max().time_since_epoch().count();
};

}  // namespace muster
