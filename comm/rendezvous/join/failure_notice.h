// The end of a process whose group cannot form: the failure goes to each connected process, and to those that
// connect while this one stays for late ranks. A process of a later restart of the job waits until this one
// has ended. That is soon: no further ranks of this incarnation come.
//
// Runs on one EventLoop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/rendezvous/messages/child_links.h"
#include "comm/rendezvous/roster/arrivals.h"

namespace muster::rendezvous {

// Whether ranks that this process waits for may still come.
bool MoreNodesMayCome(const ArrivedRanks& arrived);

// The time for which the root stays for ranks of any node, and a leader for those of its node if their number
// is known: otherwise a late rank would wait until its own deadline. Absent: it waits for no rank. At the
// deadline no process stays.
std::optional<Duration> TimeToStay(const ArrivedRanks& arrived, Code failure, Duration late_nodes,
                                   Duration until_deadline);

// "3 ranks of gpu01", or "the others" if their number is not known.
std::string DescribeLateRanks(const ArrivedRanks& arrived, const std::string& node);

class FailureNotice {
 public:
  struct Params {
    Failure failure;
    bool from_above = false;  // the failure came from upstream
    bool sent_up = false;     // upstream has one of this process
    ArrivedRanks arrived;
    std::vector<Hello> unsent{};  // of these ranks; upstream counts them
    int restart = 0;              // of the job
    std::string node;
    Duration late_nodes{};
    Deadline deadline = Deadline::Never();  // the root's
    Acceptance self{};                      // names this process
    // At the end, for the process above to take the last messages: many round trips. One that stands still may lose them.
    Duration last_messages = std::chrono::milliseconds(250);
  };

  // Sends it. `upstream` may be null. `children` must outlive it. `on_done` is called once, and must not
  // destroy it.
  FailureNotice(net::EventLoop& loop, Params params, std::unique_ptr<net::FrameStream> upstream,
                ChildLinks& children, std::function<void()> on_done);
  FailureNotice(const FailureNotice&) = delete;
  FailureNotice& operator=(const FailureNotice&) = delete;

  const Failure& failure() const { return params_.failure; }
  bool from_above() const { return params_.from_above; }

 private:
  void Send(ChildLinks::Source source);
  void OnChildFrame(ChildLinks::Source source, ByteView frame);
  void OnChildClosed();
  bool IsOfLaterRestart(const Hello& hello) const;
  bool OnlyLaterRestartsAreHere() const;
  void StayForLateRanks();
  void EndStay();
  void WaitForChildren();
  void Finish();
  void Done();

  net::EventLoop& loop_;
  Params params_;
  std::unique_ptr<net::FrameStream> upstream_;
  ChildLinks& children_;
  std::function<void()> on_done_;
  // The root counts them: it stays for those of a node whose leader has ended.
  const bool speaks_for_late_ranks_;
  bool all_are_here_;  // the ranks of all nodes; the root counts them
  std::set<ChildLinks::Source> later_restarts_;
  Clock::time_point stay_until_;
  bool stayed_ = false;   // as long as the root does
  bool waiting_ = false;  // for the children's end
  bool ending_ = false;   // nothing more goes up
  net::Timer timer_;
};

}  // namespace muster::rendezvous
