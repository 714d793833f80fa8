// The types behind the opaque names of muster.h.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "bootstrap/c/muster.h"
#include "comm/communicator.h"
#include "comm/map/member.h"

namespace muster::c {

// The handle of an object that one thread ends while others may be in its calls, or about to begin one. It lives for
// ever, a few words: later calls are refused and do no harm.
template <typename T>
struct Handle {
  std::atomic<T*> object = nullptr;  // null: it has ended
  std::unique_ptr<T> owned;  // empty: the world's, which belongs to muster::Init; and once it is freed
  std::atomic<pid_t> pid = 0;
  mutable std::atomic<int> calls = 0;  // in progress; the object lives until they have ended
};

// An object that a call uses: it is not freed before the end of this. Empty: there is none.
template <typename T>
class Use {
 public:
  Use() = default;
  explicit Use(const Handle<T>& handle) : handle_(&handle) {
    ++handle.calls;
    object_ = handle.object;
  }
  Use(Use&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), object_(std::exchange(other.object_, nullptr)) {}
  Use& operator=(Use&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Use() {
    if (handle_ != nullptr) --handle_->calls;
  }

  explicit operator bool() const { return object_ != nullptr; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  const Handle<T>* handle_ = nullptr;
  T* object_ = nullptr;
};

inline bool Close(Communicator& communicator, Deadline deadline) { return communicator.Close(deadline); }
inline bool Close(map::Member& member, Deadline /*deadline*/) {
  member.Close();
  return true;
}

// Ends the calls of other threads on `object`, which is no longer that of its handle. False at the deadline: one is
// still in progress.
template <typename T>
bool EndCalls(const Handle<T>& handle, T& object, Deadline deadline) {
  constexpr auto kAgain = std::chrono::milliseconds(1);
  if (!Close(object, deadline)) return false;
  for (; handle.calls > 0; std::this_thread::sleep_for(kAgain)) {
    if (deadline.Expired()) return false;
  }
  return true;
}

// Frees the object that the handle owns. False at the deadline: a call is still in progress; it is kept, and so must be
// its group. One thread at a time.
template <typename T>
bool EndOwned(Handle<T>& handle, Deadline deadline) {
  handle.object = nullptr;
  if (!handle.owned) return true;
  if (!EndCalls(handle, *handle.owned, deadline)) return false;
  handle.owned.reset();
  return true;
}

}  // namespace muster::c

struct muster_comm : muster::c::Handle<muster::Communicator> {};
struct muster_map : muster::c::Handle<muster::map::Member> {};

struct muster_parts {
  std::vector<muster::Bytes> parts;
};

namespace muster::c {

using InUse = Use<Communicator>;

// For calls of other threads, once they have been ended, if their object alone is freed.
inline constexpr Duration kCallsEndWithin = std::chrono::seconds(5);

// The communicator behind it. Error: kUsage (null, after Shutdown, in a forked child).
Result<InUse> Alive(const muster_comm* comm);

// Its error after Shutdown.
tl::unexpected<Error> Ended();

// Maps end before their group. False at the deadline: a call on one is still in progress.
bool EndMaps(Deadline deadline);

inline CallOptions Within(int64_t timeout_ns) {
  if (timeout_ns < 0) return {};
  return {Duration(timeout_ns), nullptr};
}

}  // namespace muster::c
