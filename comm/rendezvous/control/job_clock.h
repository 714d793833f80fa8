// The end of the job's time, in a formed group whose environment lacks it. The root queries the scheduler
// after a delay that short steps do not reach, and sends the time to all ranks. Later operations do not
// wait beyond it. A failed query is repeated after 1, 5 and 15 minutes.
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

  // The root's part. `request`: the request with which it joined.
  void Ask(const JoinRequest& request);
  void ReceiveFromParent(ByteView frame);
  // Sends no further query.
  void Stop() { inquiry_.reset(); }

 private:
  void Send(Deadline latest);

  TreeLinks& links_;
  const OnEnd on_end_;
  net::Timer timer_;
  std::unique_ptr<SchedulerInquiry> inquiry_;
};

}  // namespace muster::rendezvous
