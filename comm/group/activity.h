// This process's state in its group's operations: the backend writes it, the control plane reads it for
// reports (`muster status`, the log's lines about stragglers).
//
// Threads: all functions may be called from any thread; none waits for anything except a short lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/base/deadline.h"

namespace muster {

// The communicator of the whole group.
inline constexpr uint64_t kWorldCommunicator = 1;

// The state of one operation on its rank. A value.
struct OperationState {
  uint64_t communicator = 0;
  bool collective = true;  // false: Send or Recv; `waiting_for` holds the peer
  bool active = false;     // in it now; else it was the communicator's last
  std::string operation;   // "AllReduce"; empty: none so far
  uint64_t sequence = 0;   // counts the communicator's collectives, or the calls between two ranks
  std::string elements;    // "f32[1024]"; empty if there are none
  // Since it began; of a Send or Recv since data last moved, if it has waited before. If it is not active, since it ended.
  uint64_t milliseconds = 0;
  std::vector<int> waiting_for;  // ranks of the group; known once it has waited for a moment

  friend bool operator==(const OperationState&, const OperationState&) = default;
};

// "AllReduce #42 f32[1024]".
std::string Describe(const OperationState& operation);
// "AllReduce #42".
std::string ShortName(const OperationState& operation);

// A performer of operations, one at a time.
class ActivitySource {
 public:
  ActivitySource() = default;
  ActivitySource(const ActivitySource&) = delete;
  ActivitySource& operator=(const ActivitySource&) = delete;
  virtual ~ActivitySource() = default;
  // From any thread, at any time.
  virtual OperationState Look() const = 0;
};

class ActivityTable {
 public:
  void Add(std::shared_ptr<const ActivitySource> source);
  void Remove(const ActivitySource* source);
  // At most 16: those under way first, then the ones that ended last.
  std::vector<OperationState> Look() const;

  // An operation that waits longer than this calls ReportLate once; zero: never.
  void set_straggler_after(Duration after) { straggler_after_ = after.count(); }
  Duration straggler_after() const { return Duration(straggler_after_); }
  // Called by ReportLate, in its thread; must not wait. An empty function ends the calls.
  void SetOnLate(std::function<void()> on_late);
  void ReportLate() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ActivitySource>> sources_;
  std::function<void()> on_late_;
  std::atomic<Duration::rep> straggler_after_ = 0;
};

}  // namespace muster
