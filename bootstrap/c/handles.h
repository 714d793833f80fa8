// The types behind the opaque names of muster.h.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "bootstrap/c/muster.h"
#include "comm/communicator.h"

// Null communicator: the group is gone. The world's belongs to muster::Init, that of a part to `owned`.
struct muster_comm {
  std::atomic<muster::Communicator*> communicator = nullptr;
  std::unique_ptr<muster::Communicator> owned;
  std::atomic<pid_t> pid = 0;
  mutable std::atomic<int> calls = 0;  // in progress; the communicator lives until they have ended
};

struct muster_parts {
  std::vector<muster::Bytes> parts;
};

namespace muster::c {

// A communicator that a call uses: it is not freed before the end of this object. Empty: there is none.
class InUse {
 public:
  InUse() = default;
  explicit InUse(const muster_comm& comm) : comm_(&comm) {
    ++comm.calls;
    communicator_ = comm.communicator;
  }
  InUse(InUse&& other) noexcept
      : comm_(std::exchange(other.comm_, nullptr)),
        communicator_(std::exchange(other.communicator_, nullptr)) {}
  InUse& operator=(InUse&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(communicator_, other.communicator_);
    return *this;
  }
  ~InUse() {
    if (comm_ != nullptr) --comm_->calls;
  }

  explicit operator bool() const { return communicator_ != nullptr; }
  Communicator& operator*() const { return *communicator_; }
  Communicator* operator->() const { return communicator_; }

 private:
  const muster_comm* comm_ = nullptr;
  Communicator* communicator_ = nullptr;
};

// The communicator behind it. Error: kUsage (null, after Shutdown, in a forked child).
Result<InUse> Alive(const muster_comm* comm);

// A map ends before its group.
void EndMaps();

inline CallOptions Within(int64_t timeout_ns) {
  if (timeout_ns < 0) return {};
  return {Duration(timeout_ns), nullptr};
}

}  // namespace muster::c
