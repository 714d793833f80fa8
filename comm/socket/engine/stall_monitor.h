// The actions of a waiting rank when an operation takes long:
//   after 50 ms without progress  it notes the ranks that it waits for, for surveys; it keeps the note correct, and takes
//                                 it back with the next progress. The next note comes after 4 s, then after twice that
//                                 time, up to a minute: a peer may have sent its last bytes and left while they arrive
//                                 slowly. Of a Send or Recv the note stays, and its time begins anew with each progress
//   after `straggler_after`       it notifies the control plane, which logs the missing ranks
//   after `patience`              it sends inquiries to the awaited peers (inquiry.h); a disagreement fails
//                                 the group, and a peer of this node without a listener has gone, and so has one
//                                 that has left the communicator. If a peer of another node has no listener, it may be
//                                 behind a firewall: the control plane is notified, which has the ranks that have left.
//                                 Again after twice that time, and so on up to a minute: a peer that is elsewhere may
//                                 come, leave or learn of the communicator later
//
// Threads: one. Nothing here blocks. Costs nothing while an operation makes progress.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/ops/call.h"
#include "comm/socket/transport/call_history.h"
#include "comm/socket/transport/mesh.h"

namespace muster::socket {

class StallMonitor {
 public:
  // `history`: null for Send and Recv. They send inquiries only if they have no connection, which would report the end.
  StallMonitor(Mesh& mesh, CallHistory* history, Duration patience)
      : mesh_(mesh), history_(history), patience_(patience) {}
  StallMonitor(const StallMonitor&) = delete;
  StallMonitor& operator=(const StallMonitor&) = delete;
  ~StallMonitor() { End(); }

  void Begin(const Call& call);
  void End();
  // This process was suspended for `stall`: no planned action is due yet.
  void Postpone(Duration stall);
  void Progress() {
    blocked_ = false;
    if (waiting_pair_ || !noted_.empty()) NoteProgress();
  }

  // Called each time that this rank is about to wait; true if it is time for Attend.
  bool Blocked();
  // `peers`: the ranks that it waits for, in the whole group, ascending. `connected`: to all of them.
  void Attend(const std::vector<int>& peers, bool connected);
  // When Attend has something to do without being woken.
  Deadline wake() const;
  // Some question is open: its answer wakes a Waker.
  bool Asking() const { return !asked_.empty(); }
  // Peers that have left, without a leave message to this rank.
  const std::set<int>& Gone() const { return gone_; }

 private:
  class WaitingPair;

  void Note(std::vector<int> peers);
  void NoteProgress();
  void SetLate(Clock::time_point since);
  void Ask(std::vector<int> peers);
  void DropQuestions();
  void CollectAnswers();
  bool IsGone(int peer, Inquiry::State state) const;

  Mesh& mesh_;
  CallHistory* const history_;
  const Duration patience_;

  Call call_;
  Clock::time_point begun_{};
  bool blocked_ = false;
  Deadline note_at_ = Deadline::Never();
  Duration note_after_{};
  Deadline ask_at_ = Deadline::Never();
  Duration ask_after_{};
  int last_asked_ = -1;
  std::map<int, uint64_t> asked_;  // rank -> open question
  std::set<int> gone_;
  Deadline late_at_ = Deadline::Never();
  std::vector<int> noted_;                     // in the call history
  std::shared_ptr<WaitingPair> waiting_pair_;  // in the group's ActivityTable, if there is no call history
};

}  // namespace muster::socket
