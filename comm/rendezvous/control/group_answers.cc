#include "comm/rendezvous/control/group_answers.h"

#include <sys/eventfd.h>

#include <utility>

namespace muster::rendezvous {

void GroupAnswers::Fail(const Error& error) {
  Change([&] {
    failure_ = error;
    eventfd_write(failure_fd_.get(), 1);
  });
}

void GroupAnswers::Release() {
  Change([this] { released_ = !failure_; });
}

void GroupAnswers::Put(const std::string& exchange, std::vector<Bytes> by_rank) {
  Change([&] { exchanged_[exchange] = std::move(by_rank); });
}

// A thread that woke up before the lock is free would wait a second time. The condition lives until the control
// plane's thread has ended.
void GroupAnswers::Change(const auto& change) {
  {
    const std::lock_guard lock(mutex_);
    change();
  }
  changed_.notify_all();
}

std::optional<Error> GroupAnswers::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::optional<Result<std::vector<Bytes>>> GroupAnswers::AwaitExchange(const std::string& exchange,
                                                                      Deadline deadline) {
  std::unique_lock lock(mutex_);
  WaitFor(lock, deadline, [&] { return failure_ || exchanged_.contains(exchange); });
  if (auto found = exchanged_.extract(exchange)) return std::move(found.mapped());
  if (failure_) return tl::unexpected<Error>(*failure_);
  return std::nullopt;
}

std::optional<Status> GroupAnswers::AwaitRelease(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!WaitFor(lock, deadline, [this] { return released_ || failure_; })) return std::nullopt;
  // Events of other ranks after the release do not concern this rank.
  if (released_) return Status();
  return tl::unexpected<Error>(*failure_);
}

bool GroupAnswers::WaitFor(std::unique_lock<std::mutex>& lock, Deadline deadline,
                           const std::function<bool()>& condition) {
  if (!deadline.IsNever()) return changed_.wait_until(lock, deadline.when(), condition);
  changed_.wait(lock, condition);
  return true;
}

}  // namespace muster::rendezvous
