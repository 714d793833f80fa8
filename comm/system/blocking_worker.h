// A worker for calls that have no deadline of their own (munge): off the event loop, and abandoned when no
// code waits for them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace muster {

class BlockingWorker {
 public:
  BlockingWorker() = default;
  BlockingWorker(const BlockingWorker&) = delete;
  BlockingWorker& operator=(const BlockingWorker&) = delete;
  virtual ~BlockingWorker() = default;

  // Runs `blocking_job` on another thread and, after it, `done_on_loop` on the calling thread. Returns immediately.
  //
  // The worker may be destroyed while a job blocks: the job then goes on alone and its `done_on_loop` is
  // dropped, never called. So a job owns everything it touches (shared_ptr, copies) and refers to nothing of
  // its caller.
  void Run(std::function<void()> blocking_job, std::function<void()> done_on_loop) {
    RunFor(nullptr, std::move(blocking_job), std::move(done_on_loop));
  }

  // The same for one of many sources, which are served round-robin: one with many jobs delays each other
  // source by one job. Destroying the result cancels a job that has not begun; null: it has begun already, or has no source.
  using Pending = std::shared_ptr<void>;
  virtual Pending RunFor(const std::string* source, std::function<void()> blocking_job,
                         std::function<void()> done_on_loop) = 0;
};

}  // namespace muster
