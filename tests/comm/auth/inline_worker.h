// Workers for tests: one that does everything in the call, one that waits for a command.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "comm/system/blocking_worker.h"

namespace muster::auth {

class InlineWorker final : public BlockingWorker {
 public:
  Pending RunFor(const std::string*, std::function<void()> blocking_job,
                 std::function<void()> done_on_loop) override {
    blocking_job();
    done_on_loop();
    return nullptr;
  }
};

class HeldWorker final : public BlockingWorker {
 public:
  Pending RunFor(const std::string*, std::function<void()> blocking_job,
                 std::function<void()> done_on_loop) override {
    held_.emplace_back(std::move(blocking_job), std::move(done_on_loop));
    return nullptr;
  }
  size_t held() const { return held_.size(); }
  void RunNext() {
    const auto [job, done] = std::move(held_.front());
    held_.pop_front();
    job();
    done();
  }

 private:
  std::deque<std::pair<std::function<void()>, std::function<void()>>> held_;
};

}  // namespace muster::auth
