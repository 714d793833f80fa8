// When the job's time is over, in a formed group whose environment does not say it: the root asks the
// scheduler once, when the group has lived for a while (a step that is over by then has no use for it), and
// tells all. Operations that begin from then on do not wait beyond it.
//
//   down   JobEnd
//
// Part of a ControlPlane, on its EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "comm/base/bytes.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/scheduler_inquiry.h"
#include "comm/rendezvous/messages/tree_links.h"

namespace muster::rendezvous {

class JobClock {
 public:
  using OnEnd = std::function<void(Deadline latest)>;

  JobClock(TreeLinks& links, OnEnd on_end) : links_(links), on_end_(std::move(on_end)) {}
  JobClock(const JobClock&) = delete;
  JobClock& operator=(const JobClock&) = delete;
  ~JobClock();

  // The root's part: `request` is what it had joined with.
  void Ask(const JoinRequest& request);
  void HearFromAbove(ByteView frame);
  // Asks no more.
  void Stop() { inquiry_.reset(); }

 private:
  void Tell(Deadline latest);

  TreeLinks& links_;
  const OnEnd on_end_;
  net::EventLoop::TimerId timer_ = 0;
  std::unique_ptr<SchedulerInquiry> inquiry_;
};

}  // namespace muster::rendezvous
