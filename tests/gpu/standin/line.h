// One rank's connection to the hub: its calls in the order in which they were made, whatever streams they are
// on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/base/unique_fd.h"
#include "tests/gpu/standin/wire.h"

namespace muster::standin {

// One call, and where its data lies.
struct Work {
  Request request;
  const void* send = nullptr;
  void* receive = nullptr;  // null: there is no answer
};

class Line {
 public:
  // Null: there is no hub of this name.
  static std::shared_ptr<Line> Open(const std::string& hub);

  // A place in the order.
  uint64_t Draw() { return drawn_++; }
  // BLOCKS until its turn has come and all of it is answered. A result of NCCL's (ncclResult_t):
  // ncclRemoteError where the hub is gone, ncclInternalError after Cut.
  int Run(uint64_t ticket, std::vector<Work> works);
  // From now on nothing blocks any more.
  void Cut();

  // ncclResult_t; what the last Run that failed said.
  int error() const { return error_; }

 private:
  explicit Line(UniqueFd fd) : fd_(std::move(fd)) {}
  int Converse(std::vector<Work>& works);
  bool Send(const void* data, size_t bytes);
  bool Receive(void* data, size_t bytes);

  const UniqueFd fd_;
  std::atomic<uint64_t> drawn_ = 0;
  std::atomic<int> error_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t turn_ = 0;
  uint64_t tags_ = 0;
  bool cut_ = false;
};

}  // namespace muster::standin
