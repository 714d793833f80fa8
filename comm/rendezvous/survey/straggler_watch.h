// The root's: logs the ranks that are missing in an operation in which other ranks wait long. A straggler is
// no failure, so this only logs. A rank that has left the group will never come: that is a failure, once a second
// survey, two seconds later, finds the same call waiting. A rank leaves as soon as it has done its part, and the rank that
// waits may notice later: its data is on the way, or its state is written once a second only. A collective needs not have
// waited for `after` then: a rank that waits reports it sooner if no process listens in the place of another (socket/engine).
//
// One line for each operation, when it has waited for `after`, and again each time the wait has doubled (at
// most ten minutes later). Sends no survey while no rank waits long and all have reported. A rank reports only once that it
// waits long: if its report, or each sign of such a wait, is missing in a survey, another survey follows.
//
// Runs on one EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/rendezvous/survey/stragglers.h"

namespace muster::rendezvous {

class StragglerWatch {
 public:
  using OnReports = std::function<void(const std::vector<RankReport>& reports)>;
  // Gets all reports, later.
  using Ask = std::function<void(OnReports)>;
  // An operation that can never end, since this call's `left` are gone.
  using OnHopeless = std::function<void(const WaitingCall& call)>;

  // `roster` outlives it.
  StragglerWatch(net::EventLoop& loop, const Roster& roster, Duration after, Ask ask, OnHopeless on_hopeless);
  StragglerWatch(const StragglerWatch&) = delete;
  StragglerWatch& operator=(const StragglerWatch&) = delete;

  // Some rank has waited for `after`, or waits for one that seems to have left.
  void OnLate();

 private:
  struct Known {
    uint64_t next = 0;         // the wait at which it is logged again, milliseconds
    std::vector<int> waiting;  // the ranks in it
    std::map<int, Clock::time_point>
        left;  // ranks that have left and are waited for, and since when that is known
  };

  void AskIn(Duration delay);
  void AskNow();
  void Take(const std::vector<RankReport>& reports);
  // The ranks of the group without a report of their operations.
  std::set<int> Missing(const std::vector<RankReport>& reports);
  // Whether a call may continue that this survey did not find. A known one is kept.
  bool Note(const std::vector<WaitingCall>& calls, const std::set<int>& missing);
  // The pause before the next survey.
  Duration Report(const WaitingCall& call);
  // The ranks of call.left for which an earlier survey has found the same.
  std::vector<int> GoneFor(const WaitingCall& call) const;

  net::EventLoop& loop_;
  const Roster& roster_;
  const Duration after_;
  Ask ask_;
  OnHopeless on_hopeless_;
  std::map<std::string, Known> known_;  // by operation
  std::set<int> seen_;                  // ranks that have reported as part of the group
  Duration retry_{};                    // the last pause because of missing reports
  bool asking_ = false;
  bool ask_again_ = false;  // a rank was late meanwhile
  Clock::time_point last_asked_{};
  Clock::time_point next_ask_{};
  net::Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::rendezvous
