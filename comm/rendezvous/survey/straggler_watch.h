// The root's: logs the ranks that are missing in an operation in which other ranks wait long. A straggler is
// no failure, so this only logs. A rank that has left the group will never come: that is a failure.
//
// One line for each operation, when it has waited for `after`, and again each time the wait has doubled (at
// most ten minutes later). Sends no survey while no rank waits long.
//
// Runs on one EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <map>
#include <memory>
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
  ~StragglerWatch();

  // Some rank has waited for `after`.
  void OnLate();

 private:
  void AskIn(Duration delay);
  void AskNow();
  void Take(const std::vector<RankReport>& reports);
  // The pause before the next survey.
  Duration Report(const WaitingCall& call);

  net::EventLoop& loop_;
  const Roster& roster_;
  const Duration after_;
  Ask ask_;
  OnHopeless on_hopeless_;
  std::map<std::string, uint64_t> next_;  // by operation: the wait at which it is logged again, milliseconds
  bool asking_ = false;
  bool ask_again_ = false;  // a rank was late meanwhile
  Clock::time_point last_asked_{};
  Clock::time_point next_ask_{};
  net::EventLoop::TimerId timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::rendezvous
