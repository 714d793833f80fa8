// What a rank does besides waiting when an operation takes long:
//   after 10 ms without progress  it notes in the call history which ranks it waits for, for surveys
//   after `straggler_after`       it tells the control plane, which finds out who is missing and says so
//   after `patience`              it asks the peers it waits for (inquiry.h); a disagreement fails the group, and a
//                                 peer on this node where nobody listens any more has gone
//
// Threads: one. Nothing here blocks. Costs nothing while an operation makes progress.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/ops/call.h"
#include "comm/socket/transport/call_history.h"
#include "comm/socket/transport/mesh.h"

namespace muster::socket {

class StallMonitor {
 public:
  // Without a call history (Send, Recv: the peer is the one) it asks nobody.
  StallMonitor(Mesh& mesh, CallHistory* history, Duration patience)
      : mesh_(mesh), history_(history), patience_(patience) {}
  StallMonitor(const StallMonitor&) = delete;
  StallMonitor& operator=(const StallMonitor&) = delete;
  ~StallMonitor() { End(); }

  void Begin(const Call& call);
  void End();
  // This process stood still for so long: nothing that was planned is due yet.
  void Postpone(Duration stall);
  void Progress() { blocked_ = false; }

  // Called when this rank is about to wait; true where it is time for Attend.
  bool Blocked();
  // `peers`: whom it waits for, ranks of the whole group, ascending.
  void Attend(const std::vector<int>& peers);
  // When Attend has something to do without being woken.
  Deadline wake() const;
  // Some question is open: its answer wakes a Waker.
  bool Asking() const { return !asked_.empty(); }
  // A peer that has gone without a word.
  std::optional<int> Gone() const { return gone_; }

 private:
  void Publish(const std::vector<int>& peers);
  void Ask(const std::vector<int>& peers);
  void CollectAnswers();

  Mesh& mesh_;
  CallHistory* const history_;
  const Duration patience_;

  Call call_;
  bool blocked_ = false;
  Deadline publish_at_ = Deadline::Never();
  Deadline ask_at_ = Deadline::Never();
  std::map<int, uint64_t> asked_;  // rank -> open question
  std::set<int> done_asking_;      // asked once in this call
  std::optional<int> gone_;
  Deadline late_at_ = Deadline::Never();
  std::shared_ptr<const ActivitySource>
      waiting_pair_;  // in the group's ActivityTable, if there is no call history
};

}  // namespace muster::socket
