// The last task of a group's control plane: the exit status of every program goes up to the root. A leader
// passes on reports until the processes below it have sent their last; the root stays for all of them. No
// process waits for one that has ended, is silent or is out of time.
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
    std::function<void(const std::vector<RankEnd>&)> on_ends;  // without a process above
    std::function<void()> on_reported;                         // once, after Finish: this process may end
  };
  ExitReports(TreeLinks& links, Events events) : links_(links), events_(std::move(events)) {}
  ExitReports(const ExitReports&) = delete;
  ExitReports& operator=(const ExitReports&) = delete;
  ~ExitReports();

  // Own ends, in a group that is well.
  void Send(std::vector<RankEnd> ends) { Pass(std::move(ends)); }
  // The own exit statuses, in a failed group, once every rank has the failure: the programs here have all
  // ended. Waits for those below at most `patience`, then for the answer from above at most 2 s.
  void Finish(std::vector<RankEnd> ends, Duration patience);

  void Receive(ChildLinks::Source source, ByteView frame);
  // It has ended or is silent: no process waits for it.
  void GiveUp(ChildLinks::Source source);
  // From above: released, or no process is left there.
  void Released();

 private:
  void Pass(std::vector<RankEnd> ends);
  void Check();
  void Told();

  TreeLinks& links_;
  const Events events_;
  std::set<ChildLinks::Source> silent_;  // those that have sent their last report, or never will
  bool finishing_ = false;               // the own programs have ended
  bool passed_ = false;                  // and all of those below
  bool told_ = false;
  net::EventLoop::TimerId timer_ = 0;
};

}  // namespace muster::rendezvous
