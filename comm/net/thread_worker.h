// A BlockingWorker with its own thread, started at the first job; jobs run one after the other, round-robin
// over the sources. For calls that may hang (name service, munge): destroying the worker abandons a hanging
// call instead of waiting for it.
#pragma once

#include <cstdint>
#include <memory>

#include "comm/net/event_loop.h"
#include "comm/system/blocking_worker.h"

namespace muster::net {

class ThreadWorker : public BlockingWorker {
 public:
  // `mailbox` of the loop on whose thread `done_on_loop` is to run.
  explicit ThreadWorker(std::shared_ptr<Mailbox> mailbox);
  ~ThreadWorker() override;

  Pending RunFor(const std::string* source, std::function<void()> blocking_job,
                 std::function<void()> done_on_loop) override;

 private:
  struct Shared;
  struct Ticket;

  std::shared_ptr<Shared> shared_;
  bool started_ = false;
};

}  // namespace muster::net
