// A worker for calls that have no deadline of their own (munge): off the event loop, and abandoned when no
// code waits for them.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace muster {

class BlockingWorker {
 public:
  BlockingWorker() = default;
  BlockingWorker(const BlockingWorker&) = delete;
  BlockingWorker& operator=(const BlockingWorker&) = delete;
  virtual ~BlockingWorker() = default;

  // Runs `blocking_job` on another thread and, after it, `done_on_loop` on the thread that called Run.
  // Returns immediately.
  //
  // The worker may be destroyed while a job blocks: the job then goes on alone and its `done_on_loop` is
  // dropped, never called. So a job owns everything it touches (shared_ptr, copies) and refers to nothing of
  // its caller.
  virtual void Run(std::function<void()> blocking_job, std::function<void()> done_on_loop) = 0;

  // The same for one of many sources, which are served round-robin: one with many jobs delays each other
  // source by one job. Destroying the result cancels a job that has not begun; null: it has begun already.
  using Pending = std::shared_ptr<void>;
  virtual Pending RunFor([[maybe_unused]] const std::string& source, std::function<void()> blocking_job,
                         std::function<void()> done_on_loop) {
    Run(std::move(blocking_job), std::move(done_on_loop));
    return nullptr;
  }
};

}  // namespace muster
