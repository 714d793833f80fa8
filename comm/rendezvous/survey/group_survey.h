// A process's part in what its group reports while no rank has failed: surveys, `muster status`, and the root's
// log of stragglers.
//
//   up    Survey, Surveyed, Late       down  Survey, Surveyed
//
// Part of a ControlPlane, on its EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/rendezvous/survey/status_server.h"
#include "comm/rendezvous/survey/straggler_watch.h"
#include "comm/rendezvous/survey/surveyor.h"

namespace muster::rendezvous {

class GroupSurvey {
 public:
  struct Params {
    Surveyor::Surroundings at;
    int root_rank = 0;
    std::string job;
    std::unique_ptr<StatusServer> server;                    // null: no server of `muster status` here
    Duration straggler_after{};                              // zero: stragglers are not logged
    std::function<const std::optional<Failure>&()> failure;  // the group's
    StragglerWatch::OnHopeless on_hopeless;
  };

  GroupSurvey(net::EventLoop& loop, Params params);
  GroupSurvey(const GroupSurvey&) = delete;
  GroupSurvey& operator=(const GroupSurvey&) = delete;

  // The state of every rank; `then` is called within about one and a half times `patience`.
  void AskAll(Duration patience, Surveyor::OnAnswer then);
  // An own rank, or a rank below, has waited long in an operation.
  void NoteLate();
  void NoteLeft(const std::set<int>& ranks) { surveyor_.NoteLeft(ranks); }
  void ReceiveFromParent(ByteView frame) { surveyor_.ReceiveFromParent(frame); }
  void ReceiveFromChild(ChildLinks::Source source, ByteView frame) {
    surveyor_.ReceiveFromChild(source, frame);
  }
  // Stops the answers to `muster status` and the log lines about stragglers.
  void Stop();

 private:
  void Answer(const Survey& survey, const StatusServer::Reply& reply);
  void SendLate();

  net::EventLoop& loop_;
  Params params_;
  Surveyor surveyor_;
  std::unique_ptr<StragglerWatch> stragglers_;  // the root's; until Stop
  Clock::time_point late_sent_{};
  net::Timer late_timer_;
};

}  // namespace muster::rendezvous
