#include "comm/net/thread_worker.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "comm/base/round_robin.h"
#include "comm/system/start_thread.h"

namespace muster::net {

struct ThreadWorker::Shared {
  struct Job {
    uint64_t number = 0;
    std::function<void()> work;
    std::function<void()> done;
  };
  explicit Shared(std::shared_ptr<Mailbox> m) : mailbox(std::move(m)) {}

  std::shared_ptr<Mailbox> mailbox;
  std::mutex mutex;
  std::condition_variable changed;
  RoundRobin<Job> jobs;
  uint64_t last_number = 0;
  bool abandoned = false;

  uint64_t Add(const std::string& source, Job job) {
    const std::lock_guard lock(mutex);
    job.number = ++last_number;
    jobs.Push(source, std::move(job));
    changed.notify_one();
    return last_number;
  }

  std::optional<Job> Next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return abandoned || !jobs.empty(); });
    return abandoned ? std::nullopt : jobs.Pop();
  }

  // Its captures are destroyed outside the lock.
  std::optional<Job> Cancel(const std::string& source, uint64_t number) {
    const std::lock_guard lock(mutex);
    return jobs.Remove(source, [number](const Job& job) { return job.number == number; });
  }

  static void Work(const std::shared_ptr<Shared>& self) {
    while (std::optional<Job> job = self->Next()) DoJob(self, *std::move(job));
  }

  // `done` is owned by the jobs' owner: it goes back through the mailbox only while there is one.
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

struct ThreadWorker::Ticket {
  Ticket(const std::shared_ptr<Shared>& s, std::string of, uint64_t n)
      : shared(s), source(std::move(of)), number(n) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() {
    if (const auto alive = shared.lock()) alive->Cancel(source, number);
  }

  const std::weak_ptr<Shared> shared;
  const std::string source;
  const uint64_t number;
};

ThreadWorker::ThreadWorker(std::shared_ptr<Mailbox> mailbox)
    : shared_(std::make_shared<Shared>(std::move(mailbox))) {}

ThreadWorker::~ThreadWorker() {
  const std::lock_guard lock(shared_->mutex);
  shared_->abandoned = true;
  shared_->changed.notify_all();
}

// Without a thread the call blocks the loop itself, which is better than no call.
ThreadWorker::Pending ThreadWorker::RunFor(const std::string* source, std::function<void()> blocking_job,
                                           std::function<void()> done_on_loop) {
  Shared::Job job{0, std::move(blocking_job), std::move(done_on_loop)};
  if (!started_) started_ = StartDetachedThread([shared = shared_] { Shared::Work(shared); }).has_value();
  if (!started_) {
    Shared::DoJob(shared_, std::move(job));
    return nullptr;
  }
  const uint64_t number = shared_->Add(source == nullptr ? "" : *source, std::move(job));
  return source == nullptr ? nullptr : std::make_shared<Ticket>(shared_, *source, number);
}

}  // namespace muster::net
