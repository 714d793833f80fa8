// The last thing that a group's control plane does: how every program ended goes up to the root. A leader
// passes on what it hears and stays until those below it have nothing more to say; the root stays for all of
// them. Nobody waits for whoever is gone, silent or out of time.
//
// Part of a ControlPlane, on its EventLoop; nothing blocks.
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
    std::function<void()> on_told;                             // once, after Finish: this process may end
  };
  ExitReports(TreeLinks& links, Events events) : links_(links), events_(std::move(events)) {}
  ExitReports(const ExitReports&) = delete;
  ExitReports& operator=(const ExitReports&) = delete;
  ~ExitReports();

  // Own ends, in a group that is well.
  void Tell(std::vector<RankEnd> ends) { Pass(std::move(ends)); }
  // The own ends, in a failed group, once every rank knows of the failure: the programs here have all ended.
  // Those below are waited for at most `patience`, the word from above at most 2 s more.
  void Finish(std::vector<RankEnd> ends, Duration patience);

  void Hear(ChildLinks::Source source, ByteView frame);
  // It is gone or silent: nobody waits for it.
  void GiveUp(ChildLinks::Source source);
  // From above: released, or nobody is left there.
  void Released();

 private:
  void Pass(std::vector<RankEnd> ends);
  void Check();
  void Told();

  TreeLinks& links_;
  const Events events_;
  std::set<ChildLinks::Source> silent_;  // those that have said their last, or never will
  bool finishing_ = false;               // the own programs have ended
  bool passed_ = false;                  // and all of those below
  bool told_ = false;
  net::EventLoop::TimerId timer_ = 0;
};

}  // namespace muster::rendezvous
