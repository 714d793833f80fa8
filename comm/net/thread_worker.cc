#include "comm/net/thread_worker.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "comm/base/detached_thread.h"

namespace muster {

struct ThreadWorker::Shared {
  struct Job {
    std::function<void()> work;
    std::function<void()> done;
  };
  explicit Shared(std::shared_ptr<Mailbox> m) : mailbox(std::move(m)) {}

  std::shared_ptr<Mailbox> mailbox;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool abandoned = false;

  std::optional<Job> Next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return abandoned || !jobs.empty(); });
    if (abandoned) return std::nullopt;
    Job job = std::move(jobs.front());
    jobs.pop_front();
    return job;
  }

  static void Work(const std::shared_ptr<Shared>& self) {
    while (std::optional<Job> job = self->Next()) DoJob(self, *std::move(job));
  }

  // `done` lives with the jobs' owner: it goes back through the mailbox only while there is one.
  static void DoJob(const std::shared_ptr<Shared>& self, Job job) {
    job.work();
    const std::lock_guard lock(self->mutex);
    if (self->abandoned) return;
    self->mailbox->Post([self, done = std::move(job.done)] {
      {
        const std::lock_guard again(self->mutex);
        if (self->abandoned) return;
      }
      done();
    });
  }
};

ThreadWorker::ThreadWorker(std::shared_ptr<Mailbox> mailbox)
    : shared_(std::make_shared<Shared>(std::move(mailbox))) {}

ThreadWorker::~ThreadWorker() {
  const std::lock_guard lock(shared_->mutex);
  shared_->abandoned = true;
  shared_->changed.notify_all();
}

void ThreadWorker::Run(std::function<void()> blocking_job, std::function<void()> done_on_loop) {
  Shared::Job job{std::move(blocking_job), std::move(done_on_loop)};
  // Better late than never: without a thread the call blocks the loop itself.
  if (!started_) started_ = StartDetachedThread([shared = shared_] { Shared::Work(shared); });
  if (!started_) return Shared::DoJob(shared_, std::move(job));
  const std::lock_guard lock(shared_->mutex);
  shared_->jobs.push_back(std::move(job));
  shared_->changed.notify_one();
}

}  // namespace muster
