// The last task of a group's control plane: the exit status of every program goes up to the root. A leader
// collects the reports of the processes below until those have sent their last; the root stays for all of them. No
// process waits for one that has ended, is silent or is out of time.
//
// If a leader between the root and other leaders is lost, those hand their reports to the next one above it, which waits
// for them (../tree.md).
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "comm/rendezvous/messages/exit_report.h"
#include "comm/rendezvous/messages/tree_links.h"

namespace muster::rendezvous {

class ExitReports {
 public:
  struct Events {
    std::function<void(const std::vector<RankEnd>&)> on_ends;  // at the root
    std::function<void()> on_reported;                         // once, after Finish: this process may end
    // Without the process above: takes all reports of this process around it, then calls Released. False: there is no
    // way around.
    std::function<bool(const std::vector<RankEnd>&)> hand_over;
  };
  ExitReports(TreeLinks& links, int world_size, Events events)
      : links_(links), reported_(static_cast<size_t>(world_size)), events_(std::move(events)) {}
  ExitReports(const ExitReports&) = delete;
  ExitReports& operator=(const ExitReports&) = delete;

  // Own ends, in a group that is well: before Leaving::Leave.
  void Send(const std::vector<RankEnd>& ends) { Pass(ends); }
  // Those that are collected go up immediately: before a message of ranks that leave.
  void Flush();
  // The own exit statuses, in a failed group, once every rank has the failure: the programs here have all
  // ended. Waits for those below at most `patience`, then for the answer from above at most 2 s.
  void Finish(const std::vector<RankEnd>& ends, Duration patience);

  void Receive(ChildLinks::Source source, ByteView frame);
  // Of ranks that are not below this process any longer.
  void TakeOver(const std::vector<RankEnd>& ends);
  // It is silent: no process waits for it.
  void GiveUp(ChildLinks::Source source);
  // It is lost, or silent as well. `behind`: the ranks that are at work on nodes below it. True: their reports are awaited.
  bool Lose(ChildLinks::Source source, const std::vector<int>& behind);
  // Their nodes are lost as well.
  void GiveUpBehind(const std::vector<int>& behind);
  // The process above is lost.
  void LoseUpstream();
  // From above: released, or no process is left there.
  void Released();

 private:
  void Pass(const std::vector<RankEnd>& ends);
  void Check();
  void ReportAbove();
  void EndWait();
  void Done();

  TreeLinks& links_;
  std::vector<bool> reported_;  // by rank
  const Events events_;
  std::vector<RankEnd> ends_;            // below the root: all that have passed here
  size_t sent_ = 0;                      // of these
  std::set<ChildLinks::Source> silent_;  // those that have sent their last report, or never will
  std::set<int> awaited_;                // ranks below a process that is lost
  bool finishing_ = false;               // the own programs have ended
  bool passed_ = false;                  // and all of those below
  bool done_ = false;
  net::Timer timer_;
  net::Timer collect_timer_;
};

}  // namespace muster::rendezvous
