#include "bootstrap/map/worker.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "comm/system/start_thread.h"

namespace muster::map {

Status Worker::Run(const Group* group) {
  for (const StopFlag* flag : {&stop_, &idle_}) MUSTER_CHECK(flag->Check());
  std::vector<std::thread> threads;
  working_ = slots_.size();
  const auto ended = [this] {
    if (--working_ == 0) idle_.Raise();
  };
  for (const Slot& slot : slots_) {
    Result<std::thread> thread = StartThread("a slot of the map", [this, &slot, ended] {
      Serve(slot);
      ended();
    });
    if (thread) {
      threads.push_back(*std::move(thread));
    } else {
      Broke(thread.error());
      ended();
    }
  }
  AwaitIdle(group);
  for (std::thread& thread : threads) thread.join();
  if (error_) return Fail(*error_);
  return {};
}

// Until all slots have ended, or the group has failed, which a slot with a long item does not notice. Member::Next decides
// whether that is an error: the map may have been over before, and another rank has ended with its status.
void Worker::AwaitIdle(const Group* group) {
  std::array<pollfd, 2> fds = {
      {{idle_.fd(), POLLIN, 0}, {group == nullptr ? -1 : group->failure_fd(), POLLIN, 0}}};
  while (poll(fds.data(), fds.size(), -1) < 0 && errno == EINTR) {
  }
  if (fds[1].revents != 0) Stop();
}

void Worker::Stop() {
  if (stopped_.exchange(true)) return;
  stop_.Raise();
  member_.Stop();
}

void Worker::Broke(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  Stop();
}

void Worker::Serve(const Slot& slot) {
  if (const Status bound = BindToCores(slot.cores); !bound) return Broke(bound.error());
  NextDirectory directory(plan_.output, plan_.run, plan_.rank, slot.attempt.number);
  for (;;) {
    const Result<std::optional<Item>> next = member_.Next();
    if (!next) return Broke(next.error());
    if (!*next) return;
    if (stopped_) {
      member_.GiveBack((*next)->index);
      continue;
    }
    if (const Status served = ServeOne(slot, **next, directory); !served) return Broke(served.error());
  }
}

Status Worker::ServeOne(const Slot& slot, const Item& taken, NextDirectory& directory) {
  const Result<SourceItem> item = items_.Read(taken.index);
  if (!item) {
    member_.GiveBack(taken.index);
    return Fail(item.error());
  }
  Result<AttemptEnd> end = RunAttempt(plan_, slot.attempt, *item, taken.attempt, stop_, directory);
  if (!end || end->kind == AttemptEnd::Kind::kInterrupted) {
    member_.GiveBack(taken.index);
    if (!end) return Fail(std::move(end).error());
    return {};
  }
  if (end->kind == AttemptEnd::Kind::kFailed) {
    member_.Fail(taken.index, item->key, std::move(end->text), end->took);
    return {};
  }
  const ByteView payload = AsBytes(end->text);
  return member_.Commit(taken.index, item->key, Format::kJson, Bytes(payload.begin(), payload.end()),
                        end->took);
}

}  // namespace muster::map
